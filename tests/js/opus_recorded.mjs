/** The streams of opus.fixture.json and the module, for the Opus tests beside. tools/opus_wasm/record.py made them. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { loadOpus } from '../../abr_tts/web/static/opus.js';

const read = (path) => readFileSync(new URL(path, import.meta.url));
const { stride, lost, streams } = JSON.parse(read('opus.fixture.json').toString('utf8'));

export const WASM = read('../../abr_tts/web/static/opus.wasm');
export const LICENCE = read('../../abr_tts/web/static/opus.LICENSE.txt');
export const SUMS = read('../../tools/opus_wasm/SHA256SUMS').toString('utf8');

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** A fresh module: its own memory, no decoder open. */
export const fresh = () => loadOpus(WASM);

/** What the fixture tells of decoded samples: how many, the hash of all, and every so manieth. */
function told(entry) {
  if (!entry) return null;
  const bytes = Uint8Array.from(Buffer.from(entry.some, 'base64'));
  return { samples: entry.samples, sha256: entry.sha256, some: new Float32Array(bytes.buffer) };
}

export const STREAMS = streams.map(({ name, modes, packets, decoded, concealed, recovered }) => ({
  name,
  modes,
  packets: packets.map((packet) => Uint8Array.from(Buffer.from(packet, 'base64'))),
  decoded: told(decoded),
  concealed: told(concealed),
  recovered: told(recovered),
}));

export const stream = (name) => STREAMS.find((one) => one.name === name);

export const isLost = (at) => at % lost === lost - 1;

/** Pieces of sound as one array. */
export function joined(pieces) {
  const out = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}

/** The largest difference between `pcm` and the samples that the fixture keeps. */
export const distance = (pcm, { some }) =>
  some.reduce((worst, value, at) => Math.max(worst, Math.abs(value - pcm[at * stride])), 0);
