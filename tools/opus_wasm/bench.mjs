/**
 * How fast opus.wasm decodes on this machine, as multiples of real time.
 *
 *     node tools/opus_wasm/bench.mjs [MODULE …]
 *
 * Processor time of this thread, after the module has been optimised; the recorded streams of
 * tests/js/opus.fixture.json, each on its own, then all of them. Several modules (build.py --output)
 * take turns, so that a busy machine is the same for each; the best of the turns counts.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { loadOpus } from '../../abr_tts/web/static/opus.js';
import { STREAMS } from '../../tests/js/opus_recorded.mjs';

const SHIPPED = fileURLToPath(new URL('../../abr_tts/web/static/opus.wasm', import.meta.url));
const TURNS = 7;
const TURN_MS = 150;
const FRAME_MS = 20;

/** Milliseconds of processor time so far. */
const spent = () => process.cpuUsage().user / 1000;

/** Sound made in a millisecond of work, for a turn of about TURN_MS. */
function speed(decoder, packets) {
  const begun = spent();
  let rounds = 0;
  do {
    for (const packet of packets) decoder.decode(packet);
    rounds++;
  } while (spent() - begun < TURN_MS);
  return (rounds * packets.length * FRAME_MS) / (spent() - begun);
}

const names = process.argv.length > 2 ? process.argv.slice(2) : [SHIPPED];
const decoders = await Promise.all(names.map(async (name) => (await loadOpus(readFileSync(name))).decoder()));
const best = names.map(() => new Map());
const work = [...STREAMS, { name: 'all', packets: STREAMS.flatMap((stream) => stream.packets) }];
for (let turn = 0; turn < TURNS; turn++) {
  for (const { name, packets } of work) {
    decoders.forEach((decoder, which) => {
      best[which].set(name, Math.max(best[which].get(name) ?? 0, speed(decoder, packets)));
    });
  }
}
for (const { name } of work) {
  console.log(name.padEnd(32), ...best.map((row) => `${row.get(name).toFixed(0).padStart(6)} ×`));
}

const fresh = decoders[0];
const begun = spent();
const RESETS = 20_000;
for (let count = 0; count < RESETS; count++) fresh.reset();
console.log(`reset: ${(((spent() - begun) * 1000) / RESETS).toFixed(1)} µs`);
