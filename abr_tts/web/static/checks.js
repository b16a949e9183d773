/**
 * Checks of single values, made from bounds: each takes what came and gives what is meant.
 *
 * They serve both ways: what came off the wire (where a float is a `Float`) and what is about to
 * be sent (where every number is a plain one). A check throws `Unfit` with the end of a sentence;
 * the codec adds the names. Knows no message.
 */

import { Float } from './msgpack.js';

/** @typedef {(value: unknown) => unknown} Check */

/** The largest integer on the wire: the last one that a float counts exactly. */
export const SAFE = Number.MAX_SAFE_INTEGER;

/** A value that is not what it must be; `message` begins with "must". */
export class Unfit extends Error {}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The code points of a string; -1 where half of a pair stands alone.
 *
 * @param {string} text
 */
function codePoints(text) {
  let count = 0;
  for (const char of text) {
    if (char.length === 1 && (char.charCodeAt(0) & 0xf800) === 0xd800) return -1;
    count++;
  }
  return count;
}

/**
 * An integer in bounds, a multiple of `step`.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} [step]
 * @returns {Check}
 */
export function integer(low, high, step = 1) {
  return (value) => {
    if (
      typeof value === 'number' &&
      Number.isInteger(value) &&
      value >= low &&
      value <= high &&
      !(value % step)
    ) {
      return value;
    }
    throw new Unfit(`must be an integer from ${low} to ${high}${step > 1 ? `, a multiple of ${step}` : ''}`);
  };
}

/**
 * An integer or a float in bounds, as a number. NaN is in no range.
 *
 * @param {number} low
 * @param {number} high
 * @returns {Check}
 */
export function number(low, high) {
  return (value) => {
    const plain = value instanceof Float ? value.value : value;
    if (typeof plain === 'number' && plain >= low && plain <= high) return plain;
    throw new Unfit(`must be a number from ${low} to ${high}`);
  };
}

/**
 * A string of `low` to `high` code points, no half of a pair among them.
 *
 * @param {number} low
 * @param {number} high
 * @returns {Check}
 */
export function string(low, high) {
  return (value) => {
    if (typeof value === 'string' && value.length <= 2 * high) {
      const count = codePoints(value);
      if (count >= low && count <= high) return value;
    }
    throw new Unfit(`must be a string of ${low} to ${high} characters`);
  };
}

/**
 * Text to speak: any string; its length is the stream's affair, halves of a pair may be split.
 *
 * @type {Check}
 */
export function speech(value) {
  if (typeof value === 'string') return value;
  throw new Unfit('must be a string');
}

/** @type {Check} */
export function boolean(value) {
  if (typeof value === 'boolean') return value;
  throw new Unfit('must be true or false');
}

/**
 * A UUID in its 36 characters; case is folded to lower.
 *
 * @type {Check}
 */
export function uuid(value) {
  if (typeof value === 'string' && UUID.test(value)) return value.toLowerCase();
  throw new Unfit('must be a UUID of 36 characters');
}

/**
 * A stream's handle, or its UUID.
 *
 * @type {Check}
 */
export function streamRef(value) {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 255) return value;
  if (typeof value === 'string' && UUID.test(value)) return value.toLowerCase();
  throw new Unfit('must be an integer from 1 to 255 or a UUID');
}

/**
 * One of these strings.
 *
 * @param {...string} names
 * @returns {Check}
 */
export function oneOf(...names) {
  return (value) => {
    if (typeof value === 'string' && names.includes(value)) return value;
    throw new Unfit(`must be one of ${names.join(', ')}`);
  };
}

/**
 * An array of `low` to `high` values.
 *
 * @param {Check} item
 * @param {number} low
 * @param {number} high
 * @returns {Check}
 */
export function array(item, low, high) {
  return (value) => {
    if (Array.isArray(value) && value.length >= low && value.length <= high) return value.map(item);
    throw new Unfit(`must be an array of ${low} to ${high} values`);
  };
}

/**
 * An array of exactly two values.
 *
 * @param {Check} first
 * @param {Check} second
 * @returns {Check}
 */
export function pair(first, second) {
  return (value) => {
    if (Array.isArray(value) && value.length === 2) return [first(value[0]), second(value[1])];
    throw new Unfit('must be an array of two values');
  };
}

/**
 * A map of at most `most` names of 1 to 64 characters.
 *
 * @param {Check} item
 * @param {number} most
 * @returns {Check}
 */
export function mapping(item, most) {
  const name = string(1, 64);
  return (value) => {
    if (!isMap(value) || Object.keys(value).length > most)
      throw new Unfit(`must be a map of at most ${most} names`);
    return mapped(value, item, name);
  };
}

/**
 * A value of no fixed form, as in `error.detail`: what JSON can say, nested at most `depth` deep.
 * Six here and the message and `detail` around it are the eight that a decoder allows.
 *
 * @param {unknown} value
 * @param {number} [depth]
 * @returns {unknown}
 */
export function free(value, depth = 6) {
  const plain = value instanceof Float ? value.value : value;
  if (plain === null || typeof plain === 'boolean') return plain;
  const whole = typeof plain === 'number' && Number.isInteger(plain) && plain === value;
  if (typeof plain === 'number' && Number.isFinite(plain) && !(whole && Math.abs(plain) > SAFE)) return plain;
  if (typeof plain === 'string' && codePoints(plain) >= 0) return plain;
  if (depth && Array.isArray(plain)) return plain.map((item) => free(item, depth - 1));
  if (depth && isMap(plain)) return mapped(plain, (item) => free(item, depth - 1), free);
  throw new Unfit('must hold nothing but what JSON can say');
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isMap(value) {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined;
  return prototype === null || prototype === Object.prototype;
}

/**
 * @param {Record<string, unknown>} map
 * @param {Check} item
 * @param {Check} name
 */
function mapped(map, item, name) {
  const made = Object.create(null);
  for (const key of Object.keys(map)) made[/** @type {string} */ (name(key))] = item(map[key]);
  return made;
}
