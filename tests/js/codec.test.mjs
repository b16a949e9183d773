/** The codec obeys every vector of protocol/vectors/wire.json, and some laws of its own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MESSAGE_LIMITS, decode, encode, streamOf } from '../../abr_tts/web/static/codec.js';
import { AbrError, meaningOf as codeMeaning } from '../../abr_tts/web/static/errors.js';
import { decodeUtf8, encodeUtf8 } from '../../abr_tts/web/static/utf8.js';
import { hex, joined, load, meaningOf, messageOf, spelled, unhex } from './vectors.mjs';

const { vectors } = load('vectors/wire.json');
const bytesOf = (vector) => (vector.hex === undefined ? joined(vector.parts) : unhex(vector.hex));
const refused = (act) => {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof AbrError, `${error.stack}`);
    return error;
  }
  return assert.fail('nothing was refused');
};

for (const vector of vectors) {
  if (vector.error) {
    test(`wire: ${vector.name}`, () => {
      const error = refused(() => decode(bytesOf(vector), vector.side));
      assert.deepEqual([error.code, error.detail.field], [vector.error, vector.field]);
    });
    continue;
  }
  test(`wire: ${vector.name}`, () => {
    assert.deepEqual(meaningOf(decode(bytesOf(vector), vector.side)), spelled(vector.message));
    if (vector.canonical !== false)
      assert.equal(hex(encode(messageOf(vector.message))), hex(bytesOf(vector)));
  });
}

test('codes have the scope and close of errors.json, and one of a later version ends a stream', () => {
  for (const { code, scope, close } of load('errors.json').errors)
    assert.deepEqual(codeMeaning(code), { scope, close });
  assert.deepEqual(codeMeaning('toString'), { scope: 'stream', close: null });
});

test('what is received was decoded with every field, and packets are views of the message', () => {
  const bytes = unhex('95 01 01 00 00 c403 f8fffe');
  const audio = decode(bytes, 'server');
  assert.equal(audio.packets[0].buffer, bytes.buffer);
});

test('a field that may be absent may be left out, null or undefined when it is sent', () => {
  const id = '6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d';
  const short = encode({ type: 'stream_start', stream_id: id, text: 'Hi' });
  assert.deepEqual(
    encode({ type: 'stream_start', stream_id: id, text: 'Hi', voice: null, speed: 1, open: undefined }),
    short,
  );
});

test('what the peer would refuse is not sent', () => {
  for (const [message, field] of [
    [{ type: 'ping', value: 0.5 }, 'value'],
    [{ type: 'ping', value: -1 }, 'value'],
    [{ type: 'text', stream: 1 }, 'text'],
    [{ type: 'hello', client: 'a\ud83d' }, 'client'],
    [{ type: 'stream_start', stream_id: 'no', text: 'Hi' }, 'stream_id'],
    [{ type: 'bit_rate_hint', stream: 1, received: 0, played: 0, buffer_ms: 0, rtt_ms: NaN }, 'received'],
    [{ type: 'bit_rate_hint', stream: 0, received: 0, played: 0, buffer_ms: 0 }, 'stream'],
    [{ type: 'uplink_audio', stream: 1, pts: 0, packets: ['f8'] }, 'packets'],
  ]) {
    const error = refused(() => encode(message));
    assert.deepEqual([error.code, error.detail.field], ['bad_field', field]);
  }
});

test('numbers are written in their shortest form on either side of every bound', () => {
  const said = (value) =>
    hex(encode({ type: 'error', code: 'x', message: '', scope: 'nothing', detail: { v: value } })).split(
      'a176',
    )[1];
  const forms = [
    [127, '7f'],
    [128, 'cc80'],
    [255, 'ccff'],
    [256, 'cd0100'],
    [65535, 'cdffff'],
    [65536, 'ce00010000'],
    [2 ** 32 - 1, 'ceffffffff'],
    [2 ** 32, 'cf0000000100000000'],
    [2 ** 53 - 1, 'cf001fffffffffffff'],
    [0.5, 'cb3fe0000000000000'],
    [-32, 'e0'],
    [-33, 'd0df'],
    [-128, 'd080'],
    [-129, 'd1ff7f'],
    [-32768, 'd18000'],
    [-32769, 'd2ffff7fff'],
    [-(2 ** 31), 'd280000000'],
    [-(2 ** 31) - 1, 'd3ffffffff7fffffff'],
    [-(2 ** 53) + 1, 'd3ffe0000000000001'],
    [-0, '00'],
  ];
  for (const [value, digits] of forms) assert.equal(said(value), digits, `${value}`);
  for (const [value] of forms) {
    const message = { type: 'error', code: 'x', message: '', scope: 'nothing', detail: { v: value } };
    assert.equal(decode(encode(message), 'server').detail.v + 0, value + 0);
  }
});

test('keys of free maps are written by code point: a pair behind U+FFFD, integers as strings', () => {
  const detail = { '\u{1F600}': 1, '\ufffd': 2, b: 3, 10: 4, 9: 5, '': 6, ab: 7, a: 8 };
  delete detail[''];
  const digits = hex(encode({ type: 'error', code: 'x', message: '', scope: 'nothing', detail }));
  const keys = ['10', '9', 'a', 'ab', 'b', '\ufffd', '\u{1F600}'];
  const at = keys.map((key) => digits.indexOf(hex(encodeUtf8(key)) + hex([detail[key]]).replace(/^0?/, '0')));
  assert.deepEqual(
    [...at].sort((x, y) => x - y),
    at,
  );
  assert.ok(at.every((position) => position > 0));
});

test('a key named like a property of every object is an ordinary key', () => {
  const detail = JSON.parse('{"__proto__": 1, "constructor": 2}');
  const back = decode(encode({ type: 'error', code: 'x', message: '', scope: 'nothing', detail }), 'server');
  assert.deepEqual(Object.keys(back.detail).sort(), ['__proto__', 'constructor']);
});

test('strings of every width come back, at the bounds of each', () => {
  for (const text of [
    '',
    '\0\u007f',
    '\u0080\u07ff',
    '\u0800\uffff',
    '\u{10000}\u{10ffff}',
    'a\ud83d',
    '\ude00b',
    '\ude00\ud83d',
    'x'.repeat(200_000),
  ]) {
    assert.equal(decodeUtf8(encodeUtf8(text)), text);
    if (!/[\ud800-\udfff]/u.test(text))
      assert.equal(hex(encodeUtf8(text)), hex(new TextEncoder().encode(text)));
  }
});

test('what is no UTF-8 is refused', () => {
  const bad = [
    '80',
    'c0af',
    'c1bf',
    'c2',
    'c3 28',
    'e0 9f bf',
    'e2 82',
    'e2 28 a1',
    'f0 8f bf bf',
    'f4 90 80 80',
    'f5 80 80 80',
    'ff',
    'ed a0 bd ed b8 80',
  ];
  for (const digits of bad) assert.equal(decodeUtf8(unhex(digits)), null, digits);
});

test('any two bytes changed in any vector give a message or a typed error', () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (const vector of vectors.filter(({ hex: digits }) => digits)) {
    for (let turn = 0; turn < 40; turn++) {
      const bytes = bytesOf(vector);
      if (!bytes.length) continue;
      for (let k = 0; k < 2; k++) bytes[random(bytes.length)] = random(256);
      const cut = bytes.subarray(0, turn % 4 ? bytes.length : random(bytes.length));
      try {
        decode(cut, vector.side);
      } catch (error) {
        assert.ok(['bad_message', 'bad_field', 'unknown_type'].includes(error.code), `${error.stack}`);
        streamOf(cut);
      }
    }
  }
});

test('a limit of bytes holds at the limit and one past it', () => {
  const ping = encode({ type: 'ping', value: 7 });
  assert.equal(decode(ping, 'client', { ...MESSAGE_LIMITS, messageBytes: ping.length }).value, 7);
  assert.equal(
    refused(() => decode(ping, 'client', { ...MESSAGE_LIMITS, messageBytes: ping.length - 1 })).code,
    'message_too_big',
  );
});
