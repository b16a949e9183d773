/** Hears a recorded stream as `tests/js/hear.mjs` does in Node, and plays it through an OfflineAudioContext. */

import { decode } from '/sdk/codec.js';
import { Listener } from '/sdk/listener.js';
import { loadOpus } from '/sdk/opus.js';

const opus = loadOpus(() => fetch('/sdk/opus.wasm').then((answer) => answer.arrayBuffer()));
const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/** The SHA-256 of the bytes, in hexadecimal digits. */
async function digest(samples) {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', samples));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export async function golden(outRate, messages) {
  const listener = new Listener({ opus: await opus, outRate, startTicks: 0 });
  for (const message of messages) listener.onMessage(decode(bytesOf(message), 'server'));
  const blocks = [];
  while (listener.canRender) blocks.push(...listener.render());
  const samples = Float32Array.from(blocks);
  const context = new OfflineAudioContext(1, samples.length, outRate);
  const source = new AudioBufferSourceNode(context, {
    buffer: new AudioBuffer({ length: samples.length, sampleRate: outRate }),
  });
  source.buffer.copyToChannel(samples, 0);
  source.connect(context.destination);
  source.start();
  const played = (await context.startRendering()).getChannelData(0);
  return {
    length: samples.length,
    switches: listener.meters.switches,
    heard: await digest(samples),
    played: await digest(played),
  };
}
