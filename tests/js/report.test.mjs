/** The receiver report, in virtual time: when it is due, what it says, what it costs. And reconnects. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decode, encode } from '../../abr_tts/web/static/codec.js';
import { FRAME_HEADER, PING_EVERY_S, Reporter, UPLINK_BURST } from '../../abr_tts/web/static/report.js';
import { LONGEST_S, mayRetry, retryDelay } from '../../abr_tts/web/static/retry.js';

const STREAM = 7;

function reporterAt(now, ...streams) {
  const reporter = new Reporter(now);
  for (const stream of streams.length ? streams : [STREAM]) reporter.open(stream, now);
  reporter.pinged(1e9);
  return reporter;
}

const position = (played, more = {}) => ({
  played,
  bufferMs: 0,
  stalls: 0,
  stallMs: 0,
  highest: [],
  complete: false,
  ...more,
});
const at = (played, more) => new Map([[STREAM, position(played, more)]]);
const listener = (now) => position(Math.floor(now * 50) * 960, { bufferMs: 800 });
const one = ([hint, ...rest]) => (assert.ok(hint && !rest.length), hint);

/** A link of `kbps` in messages of `message` bytes; the driver polls when the timer says so. */
function run(reporter, streams, seconds, kbps, where, message = 1500) {
  const every = kbps ? (message * 8) / 1000 / kbps : Infinity;
  const hints = [];
  for (let now = 0, arrivals = 1; ; ) {
    now = Math.max(now, Math.min(arrivals * every, reporter.getTimer()));
    if (now > seconds) return hints;
    if (now >= arrivals * every) {
      reporter.arrived(message, now);
      arrivals++;
    } else
      for (const hint of reporter.poll(now, new Map(streams.map((stream) => [stream, where(now)]))))
        hints.push([now, hint]);
  }
}

const gaps = (hints) => hints.slice(1).map(([now], k) => now - hints[k][0]);

test('a fast link is reported every 100 ms', () => {
  const seen = gaps(run(reporterAt(0), [STREAM], 10, 350, listener));
  assert.ok(Math.max(...seen) < 0.145 && Math.min(...seen) >= 0.1 - 1e-9);
});

test('less than 2 kB is reported after 250 ms', () => {
  const seen = gaps(run(reporterAt(0), [STREAM], 10, 24, listener, 300));
  assert.ok(seen.length > 15 && seen.every((gap) => gap >= 0.25 - 1e-9 && gap <= 0.5));
});

test('what stands still is reported every 500 ms', () => {
  const hints = run(reporterAt(0), [STREAM], 10, 0, () => position(960));
  assert.ok(hints.length >= 18 && hints.length <= 21);
  for (const gap of gaps(hints).slice(1)) assert.ok(Math.abs(gap - 0.5) < 1e-9);
});

test('the shortest interval is the servers, also where it is longer than ours', () => {
  for (const shortest of [0.2, 2]) {
    const reporter = reporterAt(0);
    reporter.shortestS = shortest;
    const seen = gaps(run(reporter, [STREAM], 12, 800, listener));
    assert.ok(seen.length && Math.min(...seen) >= shortest - 1e-9);
  }
});

for (const kbps of [8, 24, 64, 350, 5000]) {
  for (const count of [1, 4, 16]) {
    test(`reports of ${count} streams cost at most 5 % of ${kbps} kbit/s or 2, and none is left out`, () => {
      const streams = Array.from({ length: count }, (_, k) => k + 1);
      const hints = run(reporterAt(0, ...streams), streams, 20, kbps, listener, 400);
      const cost = hints.reduce((sum, [, hint]) => sum + encode(hint).length + FRAME_HEADER, 0);
      assert.ok(cost <= Math.max(0.05 * kbps, 2) * 125 * 20 + UPLINK_BURST + 60);
      assert.equal(new Set(hints.map(([, { stream }]) => stream)).size, count);
    });
  }
}

test('the end is told at once and once, also when the allowance is spent', () => {
  const streams = Array.from({ length: 40 }, (_, k) => k + 1);
  const reporter = reporterAt(0, ...streams);
  assert.ok(reporter.poll(0.5, new Map(streams.map((stream) => [stream, position(960)]))).length < 40);
  const ending = new Map([[40, position(1920, { complete: true })]]);
  assert.equal(one(reporter.poll(0.5, ending)).played, 1920);
  assert.deepEqual(reporter.poll(5, ending), []);
});

test('a speech of no length is told to have ended', () => {
  const reporter = reporterAt(0);
  assert.equal(one(reporter.poll(0.01, at(0, { complete: true }))).played, 0);
  assert.equal(reporter.getTimer(), null);
});

test('a report says what the listener says, in whole numbers', () => {
  const reporter = reporterAt(0);
  reporter.arrived(3000, 0.2);
  reporter.saveData = true;
  const where = {
    bufferMs: 412.6,
    stalls: 2,
    stallMs: 640.4,
    highest: [
      [0, 28800],
      [1, 19200],
    ],
  };
  assert.deepEqual(one(reporter.poll(0.2, at(9600, where), 43.4)), {
    type: 'bit_rate_hint',
    stream: STREAM,
    received: 3000,
    played: 9600,
    buffer_ms: 413,
    rtt_ms: 43,
    jitter_ms: -1,
    goodput_kbps: 240,
    stalls: 2,
    stall_ms: 640,
    highest: [
      [0, 28800],
      [1, 19200],
    ],
    hidden: false,
    save_data: true,
  });
});

test('a page that is hidden is news', () => {
  const reporter = reporterAt(0);
  reporter.poll(0.5, at(960));
  assert.deepEqual(reporter.poll(0.8, at(960)), []);
  reporter.hidden = true;
  assert.equal(one(reporter.poll(0.8, at(960))).hidden, true);
});

test('values beyond the wire are told as its bounds', () => {
  const reporter = reporterAt(0);
  reporter.arrived(3000, 0.2);
  const wild = {
    bufferMs: 1e12,
    stalls: 1e9,
    stallMs: 1e12,
    highest: Array.from({ length: 99 }, (_, k) => [k, 0]),
  };
  const hint = one(reporter.poll(0.2, at(960, wild), 1e9));
  const { clamped, ...read } = decode(encode(hint), 'client');
  assert.deepEqual([clamped, read], [0, { ...hint, loss: 0 }]);
  assert.equal(read.highest[15][0], 98, 'the newest tracks are told');
});

test('received counts the whole connection, and what came before a stream is no news of it', () => {
  const reporter = new Reporter(0);
  reporter.arrived(5000, 0);
  reporter.open(STREAM, 0.1);
  assert.deepEqual(reporter.poll(0.25, at(0)), []);
  reporter.arrived(2000, 0.3);
  assert.equal(one(reporter.poll(0.3, at(0))).received, 7000);
});

test('jitter follows RFC 3550: a sixteenth of each difference of transit', () => {
  const reporter = reporterAt(0);
  reporter.audio(STREAM, 0, 0, 1);
  reporter.audio(STREAM, 0, 4800, 1.26); // 160 ms later than its pts says
  reporter.audio(99, 0, 0, 1);
  assert.equal(one(reporter.poll(1.3, at(960))).jitter_ms, 10);
});

test('pings are due while a stream is open', () => {
  const reporter = new Reporter(3);
  assert.equal(reporter.getTimer(), null);
  reporter.open(STREAM, 3);
  assert.equal(reporter.getTimer(), 3);
  reporter.pinged(3);
  assert.deepEqual([reporter.nextPing, reporter.getTimer()], [3 + PING_EVERY_S, 3.25]);
  reporter.close(STREAM);
  assert.equal(reporter.getTimer(), null);
});

test('the timer never lies in the past after a poll', () => {
  const streams = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const reporter = reporterAt(0, ...streams);
  for (let step = 0, now = 0; step < 2000; step++, now += 0.013) {
    reporter.arrived(1000, now);
    reporter.poll(now, new Map(streams.map((stream) => [stream, position(step * 960)])));
    assert.ok(reporter.getTimer() > now);
  }
});

test('nor does it where the server wants reports more seldom than anything here is due', () => {
  const reporter = reporterAt(0);
  reporter.shortestS = 2;
  for (let now = 0.1; now < 9; now += 0.1) {
    reporter.arrived(100, now);
    reporter.poll(now, at(Math.round(now * 48_000)));
    assert.ok(reporter.getTimer() > now, `${now}`);
  }
});

test('a client connects again where that may help, and waits as the protocol says', () => {
  for (const code of [1001, 1005, 1006, 1011, 1012, 1013, 1015]) assert.ok(mayRetry(code));
  for (const code of [1000, 1008, 1009, 4000]) assert.ok(!mayRetry(code, 'bad_message'));
  assert.ok(mayRetry(1008, 'idle_timeout') && mayRetry(1008, 'rate_limited'));
  assert.equal(retryDelay(0, 1), 0);
  assert.deepEqual(
    [1, 2, 3, 7, 50].map((retries) => retryDelay(retries, 1)),
    [1, 2, 4, LONGEST_S, LONGEST_S],
  );
  assert.equal(retryDelay(3, 0.5), 2);
  assert.equal(retryDelay(0, 1, 5), 5);
});
