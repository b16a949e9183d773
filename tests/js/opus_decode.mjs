/** For tests/web/test_opus_wasm.py: streams of packets in base64, as JSON, in; their float32 samples out, likewise. */

import { readFileSync } from 'node:fs';

import { fresh, joined } from './opus_recorded.mjs';

const streams = JSON.parse(readFileSync(0, 'utf8'));
const opus = await fresh();
const decoders = streams.map(() => opus.decoder());
const pieces = streams.map(() => []);
for (let at = 0; at < Math.max(...streams.map((stream) => stream.length)); at++) {
  streams.forEach((stream, which) => {
    if (at < stream.length) pieces[which].push(decoders[which].decode(Buffer.from(stream[at], 'base64')));
  });
}
console.log(JSON.stringify(pieces.map((heard) => Buffer.from(joined(heard).buffer).toString('base64'))));
