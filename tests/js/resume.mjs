/**
 * A player against a real server, whose connection is cut by whoever reads what this writes.
 *
 * Input, one line of JSON: `{url, text, wishes, rate, every}`. Output: a line `{"heard": n}` each time that
 * another `every` samples have come out of the loudspeaker, at last `{report, sound, events}`, the sound as
 * float32 in base64.
 */

import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';

import { browserPlace, uuid } from '../../abr_tts/web/static/place.js';
import { Outlet } from '../../abr_tts/web/static/outlet.js';
import { Receiver } from '../../abr_tts/web/static/receiver.js';
import { Speaker } from '../../abr_tts/web/static/speaker.js';

const lines = createInterface({ input: process.stdin });
const { url, text, wishes, rate, every } = JSON.parse((await lines[Symbol.asyncIterator]().next()).value);
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

/** A loudspeaker in real time: 20 ms every 20 ms, and what came out of it. */
const heard = [];
let clock = null;
let sounding = 0;
const sink = {
  rate,
  open: async () => {
    const outlet = new Outlet(rate);
    const port = {
      postMessage: (order) => {
        outlet.obey(order);
        if ('ask' in order) port.onmessage?.({ data: outlet.told });
      },
      onmessage: null,
      close: () => {},
    };
    clock = setInterval(() => {
      const out = new Float32Array(rate / 50);
      outlet.fill(out);
      heard.push(...out);
      sounding += out.some((value) => value) ? out.length : 0;
      if (sounding % every < out.length && sounding >= every) say({ heard: sounding });
      const news = outlet.news(rate / 50);
      if (news) port.onmessage?.({ data: news });
    }, 20);
    return { port, rate, cushionMs: 60 };
  },
  release: () => clearInterval(clock),
  unlock: async () => {},
  close: () => clearInterval(clock),
  onlock: () => {},
  onport: () => {},
};

const place = browserPlace(readFileSync(new URL('../../abr_tts/web/static/opus.wasm', import.meta.url)));
const events = [];
const core = (tell) => {
  const receiver = new Receiver({ url }, place, (told) => {
    if (['open', 'reconnecting', 'closed', 'error'].includes(told.type)) events.push(told.type);
    tell(told);
  });
  return { post: (command) => receiver.do(command) };
};
const player = new Speaker({ sink, core, uuid });
const report = await player.speak(text, wishes).done;
player.close();
lines.close();
say({ report, events, sound: Buffer.from(Float32Array.from(heard).buffer).toString('base64') });
