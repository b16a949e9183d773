/**
 * Messages to bytes and back: strict in, canonical out. Pure functions, no state.
 *
 * One WebSocket message is one msgpack value: a control message is a map with `type`, a compact
 * one an array that begins with its kind. One message has one encoding: fields in the order of
 * SPEC.md, the shortest integers, nothing that equals its default.
 */

import { Unfit, streamRef } from './checks.js';
import { READ, WRITE } from './compact.js';
import { AbrError } from './errors.js';
import { FORMS } from './forms.js';
import { Entries, pack, unpack } from './msgpack.js';

/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./forms.js').Field} Field */

/**
 * What is taken of one message: bytes, maps and arrays within each other, keys and values.
 *
 * @typedef {{ messageBytes: number, nesting: number, values: number }} MessageLimits
 */

/** The protocol's own limits (SPEC.md, Limits). @type {MessageLimits} */
export const MESSAGE_LIMITS = { messageBytes: 1_048_576, nesting: 8, values: 4_096 };

/**
 * The canonical bytes of a message.
 *
 * @param {ClientMessage | ServerMessage} message
 * @returns {Uint8Array}
 * @throws {AbrError} `bad_field`: a value that the peer would refuse; nothing is clamped or cut.
 *   `unknown_type`: no message of the protocol.
 */
export function encode(message) {
  const { type } = message;
  const compact = WRITE[type];
  if (compact) return pack(compact(message));
  const form = formOf(type);
  if (!form) throw new AbrError('unknown_type', `there is no message ${type}`, { type });
  /** @type {[string, unknown][]} */
  const pairs = [['type', type]];
  for (const field of form.fields) {
    const value = /** @type {Record<string, unknown>} */ (message)[field.name];
    if (field.missing && (value === undefined || value === null)) continue;
    const checked = checkField(type, field, value);
    if (!field.missing || !same(checked, field.missing())) pairs.push([field.name, checked]);
  }
  return pack(new Entries(pairs));
}

/**
 * @param {string} type
 * @returns {import('./forms.js').Form | undefined}
 */
function formOf(type) {
  return Object.prototype.hasOwnProperty.call(FORMS, type) ? FORMS[type] : undefined;
}

/**
 * Whether a value is the default: a scalar, a list of scalars, or an empty map.
 *
 * @param {any} value
 * @param {any} other
 */
function same(value, other) {
  if (Array.isArray(other))
    return value.length === other.length && other.every((item, k) => item === value[k]);
  if (typeof other === 'object' && other !== null) return Object.keys(value).length === 0;
  return value === other;
}

/**
 * The message of `bytes`, which `side` sent.
 *
 * @param {Uint8Array} bytes one WebSocket message.
 * @param {'client' | 'server'} side each may send its own types only.
 * @param {MessageLimits} [limits]
 * @returns {any} a `ServerMessage` or a `ClientMessage` with every field. Packets are views of `bytes`.
 * @throws {AbrError} `message_too_big`, `bad_message` (not one msgpack value of the protocol's
 *   form), `unknown_type` (of a type or kind that `side` does not send), `bad_field`.
 */
export function decode(bytes, side, limits = MESSAGE_LIMITS) {
  const most = limits.messageBytes;
  if (bytes.length > most)
    throw new AbrError('message_too_big', `a message of more than ${most} bytes`, { limit: most });
  const value = unpack(bytes, limits);
  if (Array.isArray(value)) return readCompact(value, side);
  if (!isMap(value)) throw new AbrError('bad_message', 'a message is a map or an array');
  const { type } = value;
  if (typeof type !== 'string') throw new AbrError('bad_message', 'a control message needs a type, a string');
  const form = formOf(type);
  if (!form || !form.sides.includes(side)) {
    throw new AbrError('unknown_type', `a ${side} sends no ${type.slice(0, 64)}`, {
      type: type.slice(0, 64),
    });
  }
  /** @type {Record<string, unknown>} */
  const made = { type };
  for (const field of form.fields) {
    const given = value[field.name];
    const absent = given === undefined || given === null;
    made[field.name] = absent && field.missing ? field.missing() : checkField(type, field, given);
  }
  return made;
}

/**
 * @param {any[]} values
 * @param {'client' | 'server'} side
 */
function readCompact(values, side) {
  const [kind] = values;
  if (typeof kind !== 'number')
    throw new AbrError('bad_message', 'a compact message begins with its kind, an integer');
  const read = READ[side][kind];
  if (!read)
    throw new AbrError('unknown_type', `a ${side} sends no compact message of kind ${kind}`, { type: kind });
  return read(values);
}

/**
 * @param {string} type
 * @param {Field} field
 * @param {unknown} value
 */
function checkField(type, field, value) {
  const detail = { type, field: field.name };
  if (value === undefined || value === null)
    throw new AbrError('bad_field', `${type}.${field.name} is missing`, detail);
  try {
    return field.check(value);
  } catch (error) {
    if (error instanceof Unfit)
      throw new AbrError('bad_field', `${type}.${field.name} ${error.message}`, detail);
    throw error;
  }
}

/**
 * The stream that a refused message was meant for, null if it names none; off the hot path.
 *
 * @param {Uint8Array} bytes
 * @param {MessageLimits} [limits]
 * @returns {number | string | null}
 */
export function streamOf(bytes, limits = MESSAGE_LIMITS) {
  try {
    const value = unpack(bytes, limits);
    const ref = Array.isArray(value) ? value[1] : isMap(value) ? (value.stream ?? value.stream_id) : null;
    return /** @type {number | string} */ (streamRef(ref));
  } catch {
    return null;
  }
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>} unpacked maps are the only objects without a prototype.
 */
function isMap(value) {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}
