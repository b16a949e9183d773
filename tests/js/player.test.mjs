/** From messages to the loudspeaker in virtual time: what is heard, what is told, and what the server hears of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Feeder } from '../../abr_tts/web/static/feeder.js';
import { Outlet } from '../../abr_tts/web/static/outlet.js';
import { Speech } from '../../abr_tts/web/static/speech.js';
import { Loudspeaker, RATE, World, surroundings, whole } from './world.mjs';

const FADE = RATE / 200;
const ramp = (from, count) => Float32Array.from({ length: count }, (_, n) => (from + n + 1) / 4096);
const pull = (outlet, count) => {
  const out = new Float32Array(count);
  outlet.fill(out);
  return out;
};
const steps = (samples) => Math.max(...samples.slice(1).map((value, n) => Math.abs(value - samples[n])));

test('an outlet gives the samples that it was given, however they are cut', () => {
  for (const [blocks, ask] of [
    [[960, 960, 960], 128],
    [[1, 2879], 960],
    [[2880], 7],
  ]) {
    const outlet = new Outlet(RATE);
    let at = 0;
    for (const size of blocks) {
      outlet.obey({ block: ramp(at, size), rest: (at += size) === 2880 });
    }
    const out = [];
    while (outlet.left) out.push(...pull(outlet, ask));
    assert.deepEqual(out.slice(0, 2880), [...ramp(0, 2880)]);
    assert.deepEqual([outlet.taken, outlet.idle, outlet.starved], [2880, out.length - 2880, 0]);
  }
});

test('an outlet that starves fades, waits, and goes on with the next sample', () => {
  const outlet = new Outlet(RATE);
  const steady = new Float32Array(960).fill(0.5);
  outlet.obey({ block: steady, rest: false });
  const first = pull(outlet, 1500);
  outlet.obey({ block: steady, rest: true });
  const second = pull(outlet, 1200);
  assert.deepEqual([outlet.taken, outlet.starved], [1920, 1]);
  assert.ok(steps([...first.slice(1), ...second.slice(0, 900)]) <= 0.5 / FADE + 1e-6);
  assert.equal(first.filter(Boolean).length + second.filter(Boolean).length >= 1918, true);
});

test('a hold fades, stands still, and loses nothing', () => {
  const outlet = new Outlet(RATE);
  outlet.obey({ block: new Float32Array(4800).fill(0.5), rest: true });
  const out = [...pull(outlet, 480)];
  outlet.obey({ hold: true });
  out.push(...pull(outlet, 960));
  const { taken } = outlet;
  out.push(...pull(outlet, 960));
  assert.equal(outlet.taken, taken);
  outlet.obey({ hold: false });
  out.push(...pull(outlet, 3000));
  assert.ok(steps(out) <= 0.5 / FADE + 1e-6);
  assert.equal(outlet.starved, 0);
});

test('a flush fades within 5 ms and drops the rest', () => {
  const outlet = new Outlet(RATE);
  outlet.obey({ block: new Float32Array(960).fill(0.5), rest: false });
  outlet.obey({ block: new Float32Array(960).fill(0.5), rest: true });
  pull(outlet, 100);
  outlet.obey({ flush: true });
  const out = pull(outlet, 480);
  assert.ok(out[0] > 0.49 && out.slice(FADE).every((value) => value === 0));
  assert.equal(outlet.taken, 1920);
  assert.ok(steps([0.5, ...out]) <= 0.5 / FADE + 1e-6);
});

test('a feeder goes on at another outlet with the very next sample', async () => {
  const world = new World();
  const heard = [];
  const feeder = new Feeder({ onHeard: (mark) => heard.push(mark), onNews: () => {}, later: world.later });
  const [one, two] = [new Loudspeaker(world), new Loudspeaker(world)];
  two.stands = true;
  feeder.attach(one.port, RATE, 100);
  for (let n = 0; n < 5; n++) feeder.push(ramp(n * 960, 960), n === 4, n);
  await world.pass(0.035);
  one.stands = true;
  feeder.attach(two.port, RATE, 100);
  two.stands = false;
  await world.pass(0.3);
  assert.deepEqual([...one.heard, ...two.heard].filter(Boolean), [...ramp(0, 4800)]);
  assert.deepEqual(heard, [0, 1, 2, 3, 4]);
  assert.ok(feeder.quiet);
});

test('a feeder does not wait for an outlet that is dead', async () => {
  const world = new World();
  const feeder = new Feeder({ onHeard: () => {}, onNews: () => {}, later: world.later });
  const dead = { postMessage: () => {}, onmessage: null, close: () => {} };
  const alive = new Loudspeaker(world);
  feeder.attach(dead, RATE, 100);
  feeder.push(ramp(0, 960), true, 0);
  feeder.attach(alive.port, RATE, 100);
  await world.pass(0.3);
  assert.deepEqual(alive.heard.filter(Boolean), [...ramp(0, 960)]);
});

test('a speech is heard to the sample, and its events come in order', async () => {
  const { world, speaker, events, speak } = surroundings();
  const id = speak();
  await world.pass(2);
  assert.deepEqual(Float32Array.from(speaker.sound), whole(50).slice(0, speaker.sound.length));
  assert.ok(speaker.sound.length > 50 * 960 - 8);
  const own = events.filter((event) => event.id === id && event.type !== 'stats').map(({ type }) => type);
  assert.deepEqual(own, ['start', 'played', 'mark', 'heard', 'end']);
  const { report } = events.find(({ type }) => type === 'end').detail;
  assert.deepEqual(
    [report.complete, report.reason, report.playedMs, report.stalls, report.rungs],
    [true, 'done', 1000, 0, { pcm: 1 }],
  );
});

test('played is what the loudspeaker has taken, never what was given to it', async () => {
  const { world, server, speaker, speak } = surroundings();
  speak();
  for (let n = 0; n < 100; n++) {
    await world.pass(0.02);
    const hints = server.last?.heard.filter(({ type }) => type === 'bit_rate_hint') ?? [];
    for (const { played } of hints) assert.ok(played <= speaker.outlet.taken);
  }
  const last = server.last.heard.filter(({ type }) => type === 'bit_rate_hint').pop();
  assert.equal(last.played, 50 * 960);
});

test('a clogged link gets no reports, is not looked at all the time, and then gets a fresh one', async () => {
  const { world, server, speak } = surroundings();
  server.frames = 500;
  speak();
  await world.pass(1);
  const hints = () => server.last.heard.filter(({ type }) => type === 'bit_rate_hint');
  const [{ length }, { calls }] = [hints(), world];
  server.last.clogged = true;
  await world.pass(2);
  assert.equal(hints().length, length);
  assert.ok(world.calls - calls < 300, `${world.calls - calls} timers, of which 200 are the loudspeaker's`);
  server.last.clogged = false;
  await world.pass(0.1);
  assert.ok(hints().at(-1).played > 2.9 * 48_000);
});

test('a loudspeaker that waits for a gesture loses nothing', async () => {
  const { world, speaker, speak, of } = surroundings();
  speaker.stands = true;
  speak();
  await world.pass(5);
  assert.equal(of('start').length, 0);
  speaker.stands = false;
  await world.pass(2);
  assert.equal(speaker.sound.length, 50 * 960 - 0);
  assert.equal(of('end')[0].detail.report.stalls, 0);
});

test('a hole in the network is one stall, faded, and nothing is lost', async () => {
  const { world, server, speaker, speak, of } = surroundings();
  Object.assign(server, { paceMs: 20, frames: 100 });
  speak();
  await world.pass(0.6);
  const { told } = server.last;
  const waiting = [];
  const { received } = told;
  told.received = (data) => waiting.push(data);
  await world.pass(0.8);
  for (const data of waiting) received(data);
  told.received = received;
  await world.pass(3);
  const [stall] = of('stall');
  const [resumed] = of('resumed');
  assert.equal(of('stall').length, 1);
  assert.ok(resumed.detail.at === stall.detail.at && resumed.detail.ms > 400 && resumed.detail.ms < 800);
  const gap = (resumed.detail.ms / 1000) * RATE;
  assert.ok(Math.abs(speaker.sound.length - 100 * 960 - gap) < 2 * 960);
  assert.equal(of('end')[0].detail.report.stallMs, resumed.detail.ms);
});

test('the next speech is asked for when the one before has come, and follows without a gap', async () => {
  const { world, server, speaker, speak, of } = surroundings();
  server.frames = 20;
  speak();
  speak();
  await world.pass(0.0025);
  const starts = () => server.last.heard.filter(({ type }) => type === 'stream_start').length;
  assert.equal(starts(), 1);
  await world.pass(2);
  assert.equal(starts(), 2);
  assert.equal(of('end').length, 2);
  assert.ok(Math.abs(speaker.sound.length - 2 * 20 * 960) < 8);
});

test('stop silences within 5 ms and tells the server', async () => {
  const { world, server, speaker, speak, receiver, of } = surroundings();
  server.frames = 200;
  const id = speak();
  await world.pass(1);
  const { length } = speaker.heard;
  receiver.do({ do: 'stop', id });
  await world.pass(0.5);
  assert.ok(speaker.heard.slice(length + FADE).every((value) => value === 0));
  assert.equal(server.last.heard.filter(({ type }) => type === 'cancel').length, 1);
  assert.equal(of('end')[0].detail.report.reason, 'stopped');
  assert.equal(of('silent').length, 1);
});

test('a speech that is stopped in its last sound takes nothing of the next one', async () => {
  const { world, server, speaker, speak, receiver, of } = surroundings();
  server.frames = 20;
  const first = speak();
  const second = speak();
  while (speaker.outlet.taken < 18 * 960) await world.pass(0.01);
  const { taken } = speaker.outlet;
  receiver.do({ do: 'stop', id: first });
  await world.pass(3);
  const ends = of('end').map(({ id, detail: { report } }) => [id, report.reason, report.playedMs]);
  assert.deepEqual(ends.at(-1), [second, 'done', 400]);
  assert.deepEqual(ends[0].slice(0, 2), [first, 'stopped']);
  const next = speaker.sound.slice(-20 * 960 + 4);
  assert.deepEqual(next, [...whole(20).slice(4)], 'from its first sample');
  assert.ok(speaker.sound.length < taken + 20 * 960 + FADE + 960, 'and at once');
  assert.equal(of('silent').length, 1);
});

test('pause and resume lose nothing and are no stall', async () => {
  const { world, server, speaker, speak, receiver, of } = surroundings();
  const id = speak();
  await world.pass(0.5);
  receiver.do({ do: 'pause', id });
  await world.pass(1);
  const { length } = speaker.heard;
  assert.ok(speaker.heard.slice(length - 9_600).every((value) => value === 0));
  receiver.do({ do: 'resume', id });
  await world.pass(2);
  assert.equal(of('end')[0].detail.report.stalls, 0);
  assert.equal(speaker.outlet.taken, 50 * 960);
  const said = server.last.heard
    .map(({ type }) => type)
    .filter((type) => type === 'pause' || type === 'resume');
  assert.deepEqual(said, ['pause', 'resume']);
});

test('text may come in pieces, and before the connection stands', async () => {
  const { world, server, speak, receiver, of } = surroundings();
  server.paceMs = 20;
  const id = speak({ text: 'One ', open: true });
  receiver.do({ do: 'write', id, text: 'two ' });
  await world.pass(0.1);
  receiver.do({ do: 'write', id, text: 'three.' });
  receiver.do({ do: 'write', id, text: null });
  await world.pass(2);
  const said = server.last.heard.filter(({ type }) => ['stream_start', 'text', 'text_end'].includes(type));
  assert.deepEqual(
    said.map(({ type, text = '' }) => type + text),
    ['stream_startOne two ', 'textthree.', 'text_end'],
  );
  assert.equal(of('end').length, 1);
});

test('a text that ends twice ends once, and one that goes on after its end is refused', async () => {
  const { world, server, speak, receiver, of } = surroundings();
  server.paceMs = 20;
  const [once, on] = [speak({ text: 'One.', open: true }), speak({ text: 'Two.' })];
  await world.pass(0.01);
  for (const id of [once, once, on]) receiver.do({ do: 'write', id, text: null });
  await world.pass(3);
  const ends = () => server.last.heard.filter(({ type }) => type === 'text_end').length;
  assert.deepEqual([of('end').length, of('error').length, ends()], [2, 0, 1]);
  receiver.do({ do: 'write', id: speak({ text: 'Three.' }), text: 'Four.' });
  await world.pass(3);
  assert.equal(of('error')[0].detail.code, 'text_after_end');
});

test('what the server would refuse ends the speech with its code', async () => {
  const { world, speak, of } = surroundings();
  speak({ text: ' ' });
  speak({ text: 'Hello.', voice: '' });
  await world.pass(3);
  assert.deepEqual(
    of('error').map(({ detail }) => detail.code),
    ['empty_text', 'bad_field'],
  );
});

test('a long text goes in pieces', async () => {
  const { world, server, speak } = surroundings();
  speak({ text: 'a'.repeat(120_000) });
  await world.pass(1);
  const said = server.last.heard.filter(({ type }) => ['stream_start', 'text', 'text_end'].includes(type));
  assert.deepEqual(
    said.map(({ text = '' }) => text.length),
    [50_000, 50_000, 20_000, 0],
  );
});

test('stats tell the bank and what is heard, four times a second', async () => {
  const { world, speak, of } = surroundings();
  speak();
  await world.pass(0.8);
  const stats = of('stats').filter(({ id }) => id === null);
  assert.equal(stats.length, 3);
  const { rungPlayed, rungSent, bankMs, playedMs, state, upgradeMs } = stats[1].detail;
  assert.deepEqual([rungPlayed, rungSent, state, upgradeMs], ['pcm', 'pcm', 'playing', 0]);
  assert.equal(bankMs + playedMs, 1000);
});

test('a closed receiver says goodbye and ends its speeches', async () => {
  const { world, server, speaker, speak, receiver, of } = surroundings();
  speak();
  await world.pass(0.3);
  receiver.do({ do: 'close' });
  await world.pass(0.3);
  assert.equal(server.last.closed, 1000);
  assert.ok(speaker.outlet.stopped);
  assert.deepEqual([of('end')[0].detail.report.reason, of('closed').length], ['stopped', 1]);
});

test('a speech that fails rejects, one that nobody awaits does not', async () => {
  const speech = new Speech('id', () => {});
  const codes = [];
  speech.addEventListener('error', ({ detail }) => codes.push(detail.code));
  speech.hear('error', { code: 'unknown_script', message: 'a warning', scope: 'nothing', retryAfter: null });
  assert.equal(speech.over, false);
  speech.hear('error', { code: 'busy', message: 'no worker is free', scope: 'stream', retryAfter: 2 });
  speech.hear('end', { report: {} });
  await assert.rejects(speech.done, { code: 'busy', retryAfter: 2 });
  assert.deepEqual(codes, ['unknown_script', 'busy']);
});
