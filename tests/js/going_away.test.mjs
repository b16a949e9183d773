/** Servers that stop: what is new goes elsewhere, what runs goes on, what is cut short is said to its end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Server, surroundings, whole } from './world.mjs';

const AWAY = { type: 'going_away', deadline_ms: 30_000, reason: 'deploy' };
const FRAME = 960;

const starts = (line) => line.heard.filter(({ type }) => type === 'stream_start');
const said = (line, type) => line.heard.filter((message) => message.type === type);

/** A listener of a server that begins a speech, speaks `frames` of it, and leaves the rest to the test. */
async function begun({ frames = 30, marks = [[0, 0, 5]], request = { text: 'One. Two. Three.' } } = {}) {
  const here = surroundings();
  const { world, server, speak } = here;
  server.silent = true;
  const id = speak(request);
  await world.pass(0.1);
  server.begin(server.last, starts(server.last)[0].stream_id, frames, marks);
  await world.pass(0.05);
  return { ...here, id, old: server.last };
}

/** `stream_end` of `frames`; `chars` of the text were spoken. */
const moved = (frames, chars) => ({
  type: 'stream_end',
  stream: 1,
  length: frames * FRAME,
  sample_rate: 48_000,
  channels: 1,
  codec: 'pcm16',
  reason: 'moved',
  chars,
});

test('what is new goes elsewhere, what runs ends where it is, and then the old connection is left', async () => {
  const { world, server, speak, of, old } = await begun();
  server.say(old, AWAY);
  await world.pass(0.05);
  server.silent = false;
  speak({ text: 'New.' });
  await world.pass(0.1);
  assert.equal(server.connections.length, 2);
  assert.equal(starts(server.last).length, 0, 'its turn has not come');
  server.say(old, { ...moved(30, 0), reason: 'done' });
  await world.pass(3);
  assert.equal(server.connections.length, 2);
  assert.deepEqual(
    starts(server.last).map(({ text }) => text),
    ['New.'],
  );
  assert.equal(said(old, 'bit_rate_hint').at(-1).played, 30 * FRAME);
  assert.deepEqual([old.open, old.closed], [false, 1000]);
  assert.deepEqual(
    of('end').map(({ detail }) => [detail.report.complete, detail.report.stalls]),
    [
      [true, 0],
      [true, 0],
    ],
  );
  assert.equal(of('error')[0].detail.code, 'shutting_down');
  assert.equal(of('reconnecting').length, 0);
});

test('a speech that is cut short is said to its end elsewhere, without a seam', async () => {
  const marks = [];
  const { world, server, speaker, of, old, events } = await begun({
    request: { text: 'One. Zwei 𝄞. Three.', speed: 1.5 },
  });
  server.say(old, AWAY);
  server.say(old, moved(30, 5));
  await world.pass(0.2);
  const line = server.last;
  assert.notEqual(line, old);
  const [start] = starts(line);
  assert.deepEqual([start.text, start.open, start.voice, start.speed], ['Zwei 𝄞. Three.', false, 'v', 1.5]);
  assert.notEqual(start.stream_id, starts(old)[0].stream_id);
  assert.deepEqual(said(old, 'cancel'), []);
  server.begin(line, start.stream_id, 40, [
    [0, 0, 8],
    [20 * FRAME, 8, 14],
  ]);
  server.say(line, { ...moved(40, 0), reason: 'done' });
  await world.pass(3);
  const sound = [...whole(30), ...whole(40)];
  const { report } = of('end')[0].detail;
  assert.deepEqual([report.complete, report.stalls, report.playedMs, report.heard], [true, 0, 1400, 20]);
  assert.equal(Math.round(report.rungs.pcm * 1000), 1400);
  assert.deepEqual(
    speaker.sound,
    sound.slice(sound.findIndex((value) => value) - 1).slice(0, speaker.sound.length),
  );
  assert.ok(speaker.sound.length > 70 * FRAME - 8);
  for (const { type, detail } of events)
    if (type === 'mark') marks.push([detail.pts, detail.from, detail.to]);
  assert.deepEqual(marks, [
    [0, 0, 5],
    [30 * FRAME, 5, 14],
    [50 * FRAME, 14, 20],
  ]);
  assert.equal(said(line, 'bit_rate_hint').at(-1).played, 40 * FRAME);
  assert.equal(old.closed, 1000);
  assert.equal(of('start').length, 1);
});

test('text that still comes goes on coming elsewhere', async () => {
  const { world, server, receiver, id, old, of } = await begun({
    request: { text: 'One. Two. ', open: true },
  });
  server.say(old, AWAY);
  server.say(old, moved(30, 5));
  await world.pass(0.1);
  receiver.do({ do: 'write', id, text: 'Three.' });
  receiver.do({ do: 'write', id, text: null });
  await world.pass(0.1);
  const line = server.last;
  const text = line.heard.map((message) => message.text ?? '').join('');
  assert.equal(text, 'Two. Three.');
  assert.equal(said(line, 'text_end').length, 1);
  assert.deepEqual(said(old, 'text'), []);
  server.begin(line, starts(line)[0].stream_id, 20, []);
  server.say(line, { ...moved(20, 0), reason: 'done' });
  await world.pass(2);
  assert.ok(of('end')[0].detail.report.complete);
});

test('a speech is whole where the text that still comes has no words', async () => {
  const { world, server, receiver, id, old, of } = await begun({
    request: { text: 'One. ', open: true },
  });
  server.say(old, AWAY);
  server.say(old, moved(30, 5));
  await world.pass(0.1);
  receiver.do({ do: 'write', id, text: null });
  await world.pass(0.1);
  const line = server.last;
  const [start] = starts(line);
  const error = {
    type: 'error',
    code: 'empty_text',
    message: 'no words',
    scope: 'stream',
    stream_id: start.stream_id,
  };
  server.say(line, { ...error, detail: {}, retry_after: null });
  await world.pass(2);
  assert.ok(of('end')[0].detail.report.complete);
  assert.equal(of('end')[0].detail.report.playedMs, 600);
  assert.equal(of('error').filter(({ detail }) => detail.code === 'empty_text').length, 0);
});

test('a speech of which nothing is left is not asked for again', async () => {
  const { world, server, old, of } = await begun({ request: { text: 'One.  ' } });
  server.say(old, AWAY);
  server.say(old, moved(30, 4));
  await world.pass(2);
  assert.ok(of('end')[0].detail.report.complete);
  assert.equal(server.connections.length, 1);
});

test('a speech that was not begun is asked for whole elsewhere', async () => {
  const { world, server, speak, of } = surroundings();
  server.silent = true;
  speak({ text: 'Later.' });
  await world.pass(0.1);
  const old = server.last;
  const [{ stream_id }] = starts(old);
  server.silent = false;
  server.say(old, AWAY);
  server.say(old, {
    type: 'error',
    code: 'busy',
    message: 'stops',
    scope: 'stream',
    stream_id,
    retry_after: 0,
  });
  await world.pass(3);
  assert.equal(starts(server.last)[0].text, 'Later.');
  assert.notEqual(starts(server.last)[0].stream_id, stream_id);
  assert.ok(of('end')[0].detail.report.complete);
});

test('busy is told by a server that stays', async () => {
  const { world, server, speak, of } = surroundings();
  server.silent = true;
  speak();
  await world.pass(0.1);
  const [{ stream_id }] = starts(server.last);
  server.say(server.last, { type: 'error', code: 'busy', message: 'full', scope: 'stream', stream_id });
  await world.pass(1);
  assert.equal(of('error')[0].detail.code, 'busy');
});

test('what the server could not end is attached to elsewhere', async () => {
  const { world, server, old } = await begun();
  server.say(old, AWAY);
  await world.pass(0.05);
  server.close(old, 1012);
  await world.pass(0.2);
  const [attach] = said(server.last, 'attach');
  assert.deepEqual(attach.tracks, [[0, 30 * FRAME]]);
});

test('a wait between two parts is a stall', async () => {
  const { world, server, old, of } = await begun({ frames: 15 });
  server.say(old, AWAY);
  server.say(old, moved(15, 5));
  await world.pass(1);
  const line = server.last;
  server.begin(line, starts(line)[0].stream_id, 15, []);
  server.say(line, { ...moved(15, 0), reason: 'done' });
  await world.pass(1);
  const { report } = of('end')[0].detail;
  assert.deepEqual(
    [report.complete, report.stalls, of('stall').length, of('resumed').length],
    [true, 1, 1, 1],
  );
  assert.ok(report.stallMs > 300 && report.stallMs < 1000, `${report.stallMs} ms`);
});

test('a server that greets only to stop is not dialled in a loop', async () => {
  const { world, server, receiver } = surroundings();
  const { transport } = server;
  assert.ok(transport instanceof Function && server instanceof Server);
  receiver.do({ do: 'connect' });
  for (let second = 0; second < 20; second += 1) {
    await world.pass(0.5);
    if (server.last?.open) server.say(server.last, AWAY);
    await world.pass(0.5);
  }
  assert.ok(
    server.connections.length >= 5 && server.connections.length <= 21,
    `${server.connections.length}`,
  );
  assert.equal(server.connections.filter(({ open }) => open).length, 1);
});

test('a voice whose clip is under way is kept where it is', async () => {
  const { world, server, receiver, of, speak } = surroundings();
  server.keeps = false;
  receiver.do({
    do: 'voice',
    id: '00000000-0000-4000-8000-00000000abcd',
    request: { voice: 'anna', consent: true },
    rate: 48_000,
  });
  receiver.do({ do: 'sound', id: '00000000-0000-4000-8000-00000000abcd', samples: new Float32Array(48_000) });
  receiver.do({ do: 'sound', id: '00000000-0000-4000-8000-00000000abcd', samples: null });
  await world.pass(0.2);
  const old = server.last;
  server.say(old, AWAY);
  await world.pass(0.1);
  speak();
  await world.pass(0.2);
  assert.equal(server.connections.length, 2);
  server.say(old, {
    type: 'stream_end',
    stream: 1,
    length: 16_000,
    sample_rate: 16_000,
    channels: 1,
    codec: '',
  });
  await world.pass(2);
  assert.equal(of('kept').length, 1);
  assert.equal(old.closed, 1000);
  assert.equal(of('end').length, 1);
});
