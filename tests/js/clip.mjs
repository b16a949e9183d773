/**
 * A player against a real server: makes a voice of what is on standard input and converts it.
 *
 * Input: `{url, name, rate, samples, wishes}`, samples as float32 in base64. Output: `{seconds, voice, heard}`: what
 * the server keeps; who spoke the conversion, and what was heard of it, as the samples were.
 */

import { readFileSync } from 'node:fs';

import { browserPlace } from '../../abr_tts/web/static/place.js';
import { Outlet } from '../../abr_tts/web/static/outlet.js';
import { Receiver } from '../../abr_tts/web/static/receiver.js';
import { Speaker } from '../../abr_tts/web/static/speaker.js';

const { url, name, rate, samples, wishes } = JSON.parse(readFileSync(0, 'utf8'));
const sound = new Float32Array(Uint8Array.from(Buffer.from(samples, 'base64')).buffer);

/** A loudspeaker that takes 20 ms every 10 ms, and what came out of it. */
const heard = [];
let clock = null;
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
      const news = outlet.news(rate / 50);
      if (news) port.onmessage?.({ data: news });
    }, 10);
    return { port, rate, cushionMs: 40 };
  },
  release: () => clearInterval(clock),
  unlock: async () => {},
  close: () => clearInterval(clock),
  onlock: () => {},
  onport: () => {},
};

/** Pieces as a worklet gives them: 128 samples each. */
async function* pieces() {
  for (let at = 0; at < sound.length; at += 128) yield sound.subarray(at, at + 128);
}

const { uuid } = await import('../../abr_tts/web/static/place.js');
const place = browserPlace(readFileSync(new URL('../../abr_tts/web/static/opus.wasm', import.meta.url)));
const core = (tell) => {
  const receiver = new Receiver({ url }, place, tell);
  return { post: (command) => receiver.do(command) };
};
const player = new Speaker({ sink, core, uuid });
const seconds = await player.addVoice(name, pieces(), rate, { consent: true, text: 'hm' });
const refused = await player.addVoice(name, sound, rate, { consent: true }).catch((error) => error.code);
const { voice, complete } = await player.convert(sound, rate, wishes).done;
player.close();
const out = Buffer.from(Float32Array.from(heard).buffer).toString('base64');
process.stdout.write(JSON.stringify({ seconds, refused, voice, complete, heard: out }));
