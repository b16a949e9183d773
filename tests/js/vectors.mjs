/** The vector files of the protocol and their notation; protocol/vectors/README.md is the key. */

import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../protocol/', import.meta.url);

/** A JSON file of `protocol/`. */
export const load = (name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));

/** Hexadecimal digits as bytes; spaces only help the eye. */
export const unhex = (digits) => Uint8Array.from(Buffer.from(digits.replaceAll(' ', ''), 'hex'));

export const hex = (bytes) => Buffer.from(bytes).toString('hex');

/** The bytes of `parts`: pairs of digits and how often they come. */
export const joined = (parts) =>
  Uint8Array.from(Buffer.concat(parts.flatMap(([digits, times]) => Array(times).fill(unhex(digits)))));

/** The one string that a `utf8_hex` stands for: UTF-8 but for lone halves of surrogate pairs. */
function halves(digits) {
  const bytes = unhex(digits);
  const codes = [];
  for (let i = 0; i < bytes.length; i += 3) {
    if (bytes[i] !== 0xed || bytes[i + 1] < 0xa0) throw new Error(`not a half of a pair: ${digits}`);
    codes.push(((bytes[i] & 0x0f) << 12) | ((bytes[i + 1] & 0x3f) << 6) | (bytes[i + 2] & 0x3f));
  }
  return String.fromCharCode(...codes);
}

/** A JSON value with every {"repeat": s, "times": n} and {"utf8_hex": h} written out. */
export function spelled(value) {
  if (Array.isArray(value)) return value.map(spelled);
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value).sort().join();
  if (keys === 'repeat,times') return value.repeat.repeat(value.times);
  if (keys === 'utf8_hex') return halves(value.utf8_hex);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spelled(item)]));
}

/** A vector's message as the codec takes it: packets as bytes. */
export function messageOf(meaning) {
  const message = spelled(meaning);
  if (message.packets) message.packets = message.packets.map(unhex);
  return message;
}

/** A message of the codec as the vectors write it: packets in digits, plain objects throughout. */
export function meaningOf(value) {
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return value.map(meaningOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, meaningOf(item)]));
}
