/** The connection obeys every client's vector of protocol/vectors/connection.json. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decode, encode } from '../../abr_tts/web/static/codec.js';
import { Connection } from '../../abr_tts/web/static/connection.js';
import { AbrError } from '../../abr_tts/web/static/errors.js';
import { NEXT } from '../../abr_tts/web/static/streams.js';
import { joined, load, meaningOf, messageOf, unhex } from './vectors.mjs';

const vectors = load('vectors/connection.json').vectors.filter(({ role }) => role === 'client');
const U = '6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d';
const V = '0b0e8a3c-2f47-4a51-9d33-6a1b7c8d9e0f';
const NAMES = {
  message_bytes: 'messageBytes',
  hello_s: 'helloS',
  idle_s: 'idleS',
  ping_s: 'pingS',
  pong_s: 'pongS',
};

function greeted(limits = {}) {
  const connection = new Connection(0, limits);
  connection.send({ type: 'hello' });
  connection.receive(encode({ type: 'welcome', version: 1, session: 's' }), 0);
  connection.eventsReceived();
  connection.dataToSend();
  return connection;
}

function begun(limits) {
  const connection = greeted(limits);
  connection.send({ type: 'stream_start', stream_id: U, text: 'Hi' });
  const started = {
    type: 'stream_started',
    stream: 1,
    stream_id: U,
    token: 't',
    voice: 'v',
    sample_rate: 22050,
    channels: 1,
    codec: 'opus',
    rung: 'opus24',
  };
  connection.receive(encode(started), 0);
  connection.eventsReceived();
  connection.dataToSend();
  return connection;
}

/** A step with the marks of a repetition replaced: {n} in strings, {#} and {#+1} as integers. */
function counted(value, turn) {
  if (typeof value === 'string') {
    if (value === '{#}') return turn;
    return value === '{#+1}' ? turn + 1 : value.replace('{n}', String(turn).padStart(12, '0'));
  }
  if (Array.isArray(value)) return value.map((item) => counted(item, turn));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, counted(item, turn)]));
}

const told = (event) =>
  event.kind === 'failed'
    ? { failed: event.error.code, stream_id: event.streamId, scope: event.scope }
    : { received: event.message.type, stream_id: event.streamId };

/** The one thing that a step does. */
function act(connection, step) {
  if ('receive' in step) connection.receive(encode(messageOf(step.receive)), step.at);
  else if ('receive_hex' in step) connection.receive(unhex(step.receive_hex), step.at);
  else if ('receive_parts' in step) connection.receive(joined(step.receive_parts), step.at);
  else if ('receive_text' in step) connection.receive(step.receive_text, step.at);
  else if ('now' in step) connection.handleTimer(step.now);
  else if ('due' in step) assert.equal(connection.getTimer(), step.due);
  else if ('rtt_ms' in step) assert.ok(Math.abs(connection.rttMs - step.rtt_ms) < 0.001);
  else if ('send' in step) assert.equal(connection.send(messageOf(step.send)) === 0, step.dropped ?? false);
  else if ('ping' in step) connection.ping(step.ping);
  else assert.fail(`no such step for a client: ${Object.keys(step)}`);
}

function play(connection, steps) {
  for (const step of steps) {
    if (step.repeat) {
      for (let turn = 1; turn <= step.repeat; turn++) play(connection, counted(step.steps, turn));
      continue;
    }
    const said = [
      ...(step.out ?? []),
      ...('send' in step && !step.dropped && !step.refused ? [step.send] : []),
    ];
    let refused;
    try {
      act(connection, step);
    } catch (error) {
      if (!(error instanceof AbrError)) throw error;
      refused = error.code;
    }
    const where = JSON.stringify(step);
    assert.equal(refused, step.refused, where);
    assert.deepEqual(connection.eventsReceived().map(told), step.events ?? [], where);
    const out = connection.dataToSend().map((bytes) => meaningOf(decode(bytes, 'client')));
    assert.equal(out.length, said.length, where);
    out.forEach((message, k) => assert.deepEqual(message, { ...message, ...said[k] }, where));
    if (step.closed) assert.deepEqual([connection.closed, connection.closeCode], [true, step.closed], where);
  }
}

for (const vector of vectors) {
  test(`connection: ${vector.name}`, () => {
    const limits = Object.fromEntries(
      Object.entries(vector.limits ?? {}).map(([name, value]) => [NAMES[name], value]),
    );
    const connection = vector.greeted === false ? new Connection(0, limits) : greeted(limits);
    play(connection, vector.steps);
    assert.equal(
      connection.closed,
      vector.steps.some((step) => 'closed' in step),
    );
  });
}

test('there are vectors for a client', () => assert.ok(vectors.length >= 27));

test('what cannot be sent changes nothing', () => {
  const connection = greeted({ messageBytes: 100 });
  assert.throws(() => connection.send({ type: 'stream_start', stream_id: U, text: 'a'.repeat(100) }), {
    code: 'message_too_big',
  });
  assert.throws(() => connection.send({ type: 'stream_start', stream_id: U, text: 'Hi', speed: 9 }), {
    code: 'bad_field',
  });
  assert.ok(connection.send({ type: 'stream_start', stream_id: U, text: 'Hi' }) > 0);
});

test('a stream is named by its UUID in any case', () => {
  const connection = begun();
  assert.ok(connection.send({ type: 'cancel', stream: U.toUpperCase() }) > 0);
  assert.throws(() => connection.send({ type: 'stream_start', stream_id: U.toUpperCase(), text: 'Hi' }), {
    code: 'duplicate_stream',
  });
});

test('a bad field ends the stream that it names, and the connection where it names none', () => {
  const connection = begun();
  connection.send({ type: 'stream_start', stream_id: V, text: 'Hi' });
  connection.receive(unhex('95 01 01 00 01 c403 f8fffe'), 1); // a pts within a frame
  assert.deepEqual(connection.eventsReceived().map(told), [
    { failed: 'bad_field', stream_id: U, scope: 'stream' },
  ]);
  assert.ok(!connection.closed);
  assert.equal(connection.send({ type: 'cancel', stream: 1 }), 0, 'it is over');
  connection.receive(unhex('82 a474797065 aa676f696e675f61776179 ab646561646c696e655f6d73 ff'), 1);
  assert.equal(connection.closeCode, 1008);
});

test('a stream that was played to its end is ignored from then on', () => {
  const connection = begun();
  connection.release(U);
  connection.receive(unhex('95 01 01 00 00 c403 f8fffe'), 1);
  assert.deepEqual(connection.eventsReceived(), []);
  assert.equal(connection.activeStreams, 0);
});

test('a stream that drains is over when it is cancelled', () => {
  const connection = begun();
  connection.receive(
    encode({ type: 'stream_end', stream: 1, length: 1, sample_rate: 22050, channels: 1, codec: '' }),
    1,
  );
  assert.ok(connection.send({ type: 'cancel', stream: 1 }) > 0);
  assert.equal(connection.activeStreams, 0);
  assert.equal(
    connection.send({ type: 'bit_rate_hint', stream: 1, received: 0, played: 0, buffer_ms: 0 }),
    0,
  );
});

test('a stream that had a word may end its text, whatever white space came after', () => {
  const connection = greeted();
  connection.send({ type: 'stream_start', stream_id: U, open: true });
  for (const text of ['\u3000', 'Hi', ' \n\x85']) connection.send({ type: 'text', stream: U, text });
  assert.ok(connection.send({ type: 'text_end', stream: U }) > 0);
});

test('255 streams may run at once, and one more is refused', () => {
  const connection = greeted();
  const id = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  for (let n = 1; n <= 255; n++)
    assert.ok(connection.send({ type: 'stream_start', stream_id: id(n), text: 'Hi' }) > 0);
  assert.throws(() => connection.send({ type: 'stream_start', stream_id: id(256), text: 'Hi' }), {
    code: 'too_many_streams',
  });
});

test('an attach takes up a stream that is gone, and its text goes on', () => {
  const connection = begun();
  connection.release(U);
  assert.ok(connection.send({ type: 'attach', stream_id: U, token: 't', tracks: [[0, 960]] }) > 0);
  assert.ok(connection.send({ type: 'text_end', stream: U }) > 0);
});

test('the table of states has every cell', () => {
  for (const row of Object.values(NEXT))
    assert.deepEqual(Object.keys(row), ['text', 'text_end', 'cancel', 'audio', 'other']);
});

test('nothing that a server does throws', () => {
  let seed = 11;
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const said = load('vectors/wire.json').vectors.filter((vector) => vector.hex);
  for (let turn = 0; turn < 300; turn++) {
    const connection = turn % 3 ? begun() : new Connection(0);
    for (let k = 0; k < 20 && !connection.closed; k++) {
      const bytes = unhex(said[random(said.length)].hex);
      if (bytes.length && random(2)) bytes[random(bytes.length)] = random(256);
      connection.receive(random(9) ? bytes : 'text', k);
      connection.handleTimer(k);
      connection.eventsReceived();
      for (const answer of connection.dataToSend()) decode(answer, 'client');
    }
    assert.equal(connection.getTimer() === null, connection.closed);
  }
});
