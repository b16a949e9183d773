/**
 * Hears one recorded stream: `{outRate, messages}` (base64 of each message) on standard input; on standard
 * output `{frames, meters, samples}`: what was played from which track, and float32 samples in base64.
 */

import { readFileSync } from 'node:fs';

import { decode } from '../../abr_tts/web/static/codec.js';
import { Listener } from '../../abr_tts/web/static/listener.js';
import { loadOpus } from '../../abr_tts/web/static/opus.js';

const { outRate, messages } = JSON.parse(readFileSync(0, 'utf8'));
const opus = await loadOpus(readFileSync(new URL('../../abr_tts/web/static/opus.wasm', import.meta.url)));
const listener = new Listener({ opus, outRate, startTicks: 0 });
const [frames, samples] = [[], []];
for (const message of messages) {
  listener.onMessage(decode(Uint8Array.from(Buffer.from(message, 'base64')), 'server'));
}
while (listener.canRender) {
  samples.push(Buffer.from(listener.render().buffer));
  const { pts, track, fadeFrom, fadeIn, fadeOut } = listener.frame;
  frames.push([pts, track, fadeFrom, fadeIn, fadeOut]);
}
const { meters } = listener;
process.stdout.write(JSON.stringify({ frames, meters, samples: Buffer.concat(samples).toString('base64') }));
