/**
 * The compact messages: arrays whose first element is their kind. Audio, its uplink, and the hint.
 *
 * This is the hot path. Numbers of a hint that are out of bounds are brought back and counted,
 * never refused: reports come from clients of any quality.
 */

import { SAFE } from './checks.js';
import { AbrError } from './errors.js';
import { LAST_TICK, PREROLL_MOST } from './forms.js';
import { Float } from './msgpack.js';
import { FRAME_TICKS } from './units.js';

/** @typedef {Record<string, any>} Fields */

const AUDIO = 1;
const HINT = 2;
const UPLINK = 3;

/** Packets in one message: with the four elements before them the array header stays one byte. */
const PACKETS_MOST = 11;

/** Bytes of one packet: 60 ms of 16-bit stereo at 48 kHz are 11 520. */
const PACKET_BYTES_MOST = 16_384;

/** The earliest pts: pre-roll of a track that starts at 0. */
const FIRST_TICK = -PREROLL_MOST * FRAME_TICKS;

/** Tracks in one hint. */
const HIGHEST_MOST = 16;

/**
 * @param {string} type
 * @param {string} field
 * @param {string} wanted
 */
function badField(type, field, wanted) {
  return new AbrError('bad_field', `${type}.${field} must be ${wanted}`, { type, field });
}

/**
 * @param {unknown} value
 * @param {number} low
 * @param {number} high
 */
function isWithin(value, low, high) {
  return typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high;
}

/**
 * A message of packets that is in order.
 *
 * @param {Fields} message `audio` or `uplink_audio`, whatever its fields hold.
 * @param {number} lowest the earliest pts.
 */
function checkAudio(message, lowest) {
  const { type, stream, track = 0, pts, packets } = message;
  if (!isWithin(stream, 1, 255)) throw badField(type, 'stream', 'an integer from 1 to 255');
  if (!isWithin(track, 0, 65_535)) throw badField(type, 'track', 'an integer from 0 to 65535');
  if (!isWithin(pts, lowest, LAST_TICK) || pts % FRAME_TICKS) {
    throw badField(type, 'pts', `an integer from ${lowest} to ${LAST_TICK}, a multiple of ${FRAME_TICKS}`);
  }
  const count = Array.isArray(packets) ? packets.length : 0;
  if (count < 1 || count > PACKETS_MOST) throw badField(type, 'packets', `1 to ${PACKETS_MOST} packets`);
  for (const packet of packets) {
    if (!(packet instanceof Uint8Array) || packet.length < 1 || packet.length > PACKET_BYTES_MOST) {
      throw badField(type, 'packets', `binary of 1 to ${PACKET_BYTES_MOST} bytes each`);
    }
  }
  return message;
}

/**
 * The numbers of a hint: element, name, most (least is 0), what is meant by less or NaN, whether whole.
 *
 * @type {[number, string, number, number, boolean][]}
 */
const NUMBERS = [
  [2, 'received', SAFE, 0, true], // bytes
  [3, 'played', LAST_TICK, 0, true], // ticks
  [4, 'buffer_ms', 3_600_000, 0, true], // an hour
  [6, 'rtt_ms', 60_000, -1, false],
  [7, 'goodput_kbps', 10_000_000, -1, false],
  [8, 'jitter_ms', 60_000, -1, false],
  [9, 'loss', 1, 0, false],
  [10, 'stalls', 1_000_000, 0, true], // events
  [11, 'stall_ms', 86_400_000, 0, true], // a day
];

/** What an absent element of a hint means, from the sixth on. */
const DEFAULTS = [null, null, null, null, null, [], -1, -1, -1, 0, 0, 0, false, false];

/**
 * @param {unknown} value
 * @param {string} field
 * @param {string} [wanted]
 */
function numeric(value, field, wanted = 'a number') {
  const plain = value instanceof Float ? value.value : value;
  if (typeof plain !== 'number') throw badField('bit_rate_hint', field, wanted);
  return plain;
}

/**
 * `highest` in its bounds, and how many pairs were changed or left out.
 *
 * @param {unknown} value
 * @returns {[[number, number][], number]}
 */
function readPairs(value) {
  if (!Array.isArray(value)) throw badField('bit_rate_hint', 'highest', 'an array');
  let clamped = Math.max(0, value.length - HIGHEST_MOST);
  /** @type {[number, number][]} */
  const pairs = [];
  for (const item of value.slice(0, HIGHEST_MOST)) {
    const wanted = 'an array of [track, pts]';
    if (!Array.isArray(item) || item.length !== 2) throw badField('bit_rate_hint', 'highest', wanted);
    const [track, pts] = item.map((part) => numeric(part, 'highest', wanted));
    if (!(track >= 0 && track <= 65_535)) {
      clamped++;
      continue;
    }
    const inside = pts >= FIRST_TICK && pts <= LAST_TICK;
    clamped += inside ? 0 : 1;
    pairs.push([Math.trunc(track), inside ? Math.trunc(pts) : pts > LAST_TICK ? LAST_TICK : FIRST_TICK]);
  }
  return [pairs, clamped];
}

/**
 * @param {unknown[]} values
 * @returns {Fields}
 */
function readHint(values) {
  if (values.length < 5)
    throw badField('bit_rate_hint', 'buffer_ms', 'there, with stream, received and played before it');
  const all = [...values, ...DEFAULTS.slice(values.length)];
  const [, stream] = all;
  const [hidden, save_data] = all.slice(12);
  if (!isWithin(stream, 1, 255)) throw badField('bit_rate_hint', 'stream', 'an integer from 1 to 255');
  if (typeof hidden !== 'boolean') throw badField('bit_rate_hint', 'hidden', 'true or false');
  if (typeof save_data !== 'boolean') throw badField('bit_rate_hint', 'save_data', 'true or false');
  let clamped = 0;
  /** @type {Fields} */
  const numbers = {};
  for (const [index, name, most, below, whole] of NUMBERS) {
    let value = numeric(all[index], name);
    if (!(value >= 0 && value <= most) && value !== below) {
      value = value > most ? most : below;
      clamped++;
    }
    numbers[name] = whole ? Math.trunc(value) : value;
  }
  const [highest, leftOut] = readPairs(all[5]);
  return {
    type: 'bit_rate_hint',
    stream,
    ...numbers,
    highest,
    hidden,
    save_data,
    clamped: clamped + leftOut,
  };
}

/**
 * The array of a hint; defaults at its end are left out.
 *
 * @param {Fields} hint
 */
function hintValues(hint) {
  /** @type {Fields} */
  const said = {
    highest: [],
    rtt_ms: -1,
    goodput_kbps: -1,
    jitter_ms: -1,
    loss: 0,
    stalls: 0,
    stall_ms: 0,
    hidden: false,
    save_data: false,
    ...hint,
  };
  const values = [
    HINT,
    said.stream,
    said.received,
    said.played,
    said.buffer_ms,
    said.highest,
    said.rtt_ms,
    said.goodput_kbps,
    said.jitter_ms,
    said.loss,
    said.stalls,
    said.stall_ms,
    said.hidden,
    said.save_data,
  ];
  if (
    readHint(values).clamped ||
    values.some((value) => typeof value === 'number' && !Number.isFinite(value))
  ) {
    throw badField('bit_rate_hint', 'received', 'within its bounds, as every other number');
  }
  while (values.length > 5 && isDefault(values[values.length - 1], values.length - 1)) values.pop();
  return values;
}

/**
 * @param {unknown} value
 * @param {number} index
 */
function isDefault(value, index) {
  return index === 5 ? !(/** @type {unknown[]} */ (value).length) : value === DEFAULTS[index];
}

/** Readers by who sends, then by kind. @type {Record<string, Record<number, (values: any[]) => Fields>>} */
export const READ = {
  server: {
    [AUDIO]: ([, stream, track, pts, ...packets]) =>
      checkAudio({ type: 'audio', stream, track, pts, packets }, FIRST_TICK),
  },
  client: {
    [HINT]: readHint,
    [UPLINK]: ([, stream, pts, ...packets]) => checkAudio({ type: 'uplink_audio', stream, pts, packets }, 0),
  },
};

/**
 * Writers by type: the array of a message, or `bad_field`.
 *
 * @type {Record<string, (message: Fields) => unknown[]>}
 */
export const WRITE = {
  audio(message) {
    checkAudio(message, FIRST_TICK);
    return [AUDIO, message.stream, message.track, message.pts, ...message.packets];
  },
  uplink_audio(message) {
    checkAudio(message, 0);
    return [UPLINK, message.stream, message.pts, ...message.packets];
  },
  bit_rate_hint: hintValues,
};
