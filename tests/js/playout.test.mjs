/** Playout obeys protocol/vectors/playout.json, case by case; playout.md there is the key. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PlayoutError } from '../../abr_tts/web/static/errors.js';
import { MAX_TRACKS } from '../../abr_tts/web/static/held.js';
import { Playout } from '../../abr_tts/web/static/playout.js';
import { RungTally } from '../../abr_tts/web/static/tally.js';
import { load } from './vectors.mjs';

const { cases } = load('vectors/playout.json');
const FRAMES = /^(\d+)(?:\.\.(\d+))? (?:t(\d+)>)?t(\d+)( in)?( out)?$/;

/** What one string of a vector's `render` stands for. */
function framesOf(notation) {
  const silence = /^-(?: x(\d+))?$/.exec(notation);
  if (silence) return Array(Number(silence[1] ?? 1)).fill(null);
  const said = FRAMES.exec(notation);
  assert.ok(said, `not in the notation: ${notation}`);
  const [, first, last = first, old, track, rise, fall] = said;
  const frames = [];
  for (let pts = Number(first); pts <= Number(last); pts += 960) {
    frames.push({
      pts,
      track: Number(track),
      fadeFrom: old ? Number(old) : null,
      fadeIn: Boolean(rise),
      fadeOut: Boolean(fall),
    });
  }
  return frames;
}

const stateOf = (playout) => ({
  started: playout.started,
  finished: playout.finished,
  played: playout.played,
  buffer: playout.bufferTicks,
  stalls: playout.stalls,
  stall_ticks: playout.stallTicks,
  can_render: playout.canRender,
  live: playout.live,
  wanted: playout.wanted,
  highest: playout.highest,
});

function step(playout, [verb, ...rest]) {
  if (verb === 'render') {
    for (const frame of rest.flatMap(framesOf)) assert.deepEqual(playout.render(), frame);
  } else if (verb === 'state') {
    const seen = stateOf(playout);
    assert.deepEqual(Object.fromEntries(Object.keys(rest[0]).map((key) => [key, seen[key]])), rest[0]);
  } else if (verb === 'refuse') {
    const before = stateOf(playout);
    assert.throws(
      () => step(playout, rest[1]),
      (error) => error instanceof PlayoutError && error.fault === rest[0],
    );
    assert.deepEqual(stateOf(playout), before);
  } else playout[verb === 'track' ? 'open' : verb](...rest);
}

for (const vector of cases) {
  test(`playout: ${vector.name}`, () => {
    const playout = new Playout({ startTicks: vector.start_ticks, level: vector.level });
    vector.events.forEach((event, number) => {
      try {
        step(playout, event);
      } catch (fault) {
        fault.message = `event ${number} ${JSON.stringify(event)}: ${fault.message}`;
        throw fault;
      }
    });
  });
}

test('a control: a player that fades where none is due would be found', () => {
  const playout = new Playout();
  playout.open(1, 0, 0);
  playout.hold(1, 0, 10);
  assert.throws(() => step(playout, ['render', '0 t1 in']));
});

test('64 live tracks are held, and one more is refused', () => {
  const playout = new Playout();
  for (let n = 0; n < MAX_TRACKS; n++) playout.open(n, 1, 0);
  assert.throws(() => playout.open(MAX_TRACKS, 1, 0), { fault: 'too_many_tracks' });
});

test('a tally follows the rungs heard, retunes among them', () => {
  const tally = new RungTally();
  tally.open(1, 'opus24');
  tally.retune(1, 1920, 'opus16');
  tally.retune(9, 0, 'unknown');
  tally.open(2, 'pcm22');
  for (const [track, pts] of [
    [1, 0],
    [1, 960],
    [1, 1920],
    [2, 2880],
  ])
    tally.heard(track, pts, 960);
  assert.deepEqual(
    [...tally.ticks],
    [
      ['opus24', 1920],
      ['opus16', 960],
      ['pcm22', 960],
    ],
  );
  assert.deepEqual([tally.rung, tally.switches], ['pcm22', 2]);
});
