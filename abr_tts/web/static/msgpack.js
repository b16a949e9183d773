/**
 * Plain values to msgpack bytes and back: strict in, canonical out. Knows no message.
 *
 * A codec of our own, because the protocol's vectors bind what the usual packages leave open: a
 * float is never an integer, a key stands once, strings may hold half a surrogate pair, extension
 * types are refused, and depth and number of values are bounded before anything is built. What is
 * left of msgpack after that is this page.
 *
 * A float is read as a `Float`, so that 7.0 and 7 stay apart; all other values are the obvious
 * ones, binary as `Uint8Array` (a view of the message, not a copy), maps as objects without a
 * prototype. Integers beyond 2^53 are read as the nearest float: every bound of the protocol
 * lies below.
 */

import { AbrError } from './errors.js';
import { decodeUtf8, encodeUtf8 } from './utf8.js';

/** A number that came as a float. */
export class Float {
  /** @param {number} value may be NaN or infinite. */
  constructor(value) {
    this.value = value;
  }
}

/**
 * A map whose entries are written in this order. Plain objects are written by code points of keys.
 */
export class Entries {
  /** @param {[string, unknown][]} pairs */
  constructor(pairs) {
    this.pairs = pairs;
  }
}

// ---- in

/**
 * @param {string} words
 * @param {Record<string, unknown>} [detail]
 */
function bad(words, detail) {
  return new AbrError('bad_message', words, detail);
}

class Reader {
  /**
   * @param {Uint8Array} bytes
   * @param {number} depth maps and arrays within each other.
   * @param {number} values keys, values and elements in all.
   */
  constructor(bytes, depth, values) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.most = { depth, values };
    this.depth = 0;
    this.left = values;
  }

  /**
   * Step over `count` bytes; where they began.
   *
   * @param {number} count
   */
  take(count) {
    const from = this.at;
    this.at += count;
    if (this.at > this.bytes.length) throw bad('the message ends inside a value');
    return from;
  }

  /** @param {number} size 1, 2 or 4 bytes of an unsigned integer. */
  uint(size) {
    const at = this.take(size);
    return size === 1
      ? this.view.getUint8(at)
      : size === 2
        ? this.view.getUint16(at)
        : this.view.getUint32(at);
  }

  /** @returns {unknown} */
  value() {
    const byte = this.uint(1);
    if (byte < 0x80) return byte;
    if (byte < 0x90) return this.map(byte & 0x0f);
    if (byte < 0xa0) return this.array(byte & 0x0f);
    if (byte < 0xc0) return this.string(byte & 0x1f);
    return byte < 0xe0 ? this.long(byte) : byte - 256;
  }

  /**
   * @param {number} byte 0xc0 to 0xdf
   * @returns {unknown}
   */
  long(byte) {
    switch (byte) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.binary(this.uint(1 << (byte - 0xc4)));
      case 0xca:
        return new Float(this.view.getFloat32(this.take(4)));
      case 0xcb:
        return new Float(this.view.getFloat64(this.take(8)));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.uint(1 << (byte - 0xcc));
      case 0xcf:
        return this.uint(4) * 2 ** 32 + this.uint(4);
      case 0xd0:
        return this.view.getInt8(this.take(1));
      case 0xd1:
        return this.view.getInt16(this.take(2));
      case 0xd2:
        return this.view.getInt32(this.take(4));
      case 0xd3:
        return this.view.getInt32(this.take(4)) * 2 ** 32 + this.uint(4);
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.string(this.uint(1 << (byte - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.array(this.uint(2 << (byte - 0xdc)));
      case 0xde:
      case 0xdf:
        return this.map(this.uint(2 << (byte - 0xde)));
      default:
        throw bad(
          byte === 0xc1 ? 'byte 0xc1 begins no value' : 'extension types are not part of the protocol',
        );
    }
  }

  /** @param {number} length */
  binary(length) {
    const from = this.take(length);
    return this.bytes.subarray(from, this.at);
  }

  /** @param {number} length */
  string(length) {
    const text = decodeUtf8(this.binary(length));
    if (text === null) throw bad('a string is not UTF-8');
    return text;
  }

  /** @param {number} count values that a map or array is about to hold. */
  enter(count) {
    this.left -= count;
    this.depth += 1;
    const { values, depth } = this.most;
    if (this.left < 0) throw bad(`more than ${values} values in one message`, { limit: values });
    if (this.depth > depth) throw bad(`nested deeper than ${depth}`, { limit: depth });
  }

  /** @param {number} count */
  array(count) {
    this.enter(count);
    const made = [];
    for (let k = 0; k < count; k++) made.push(this.value());
    this.depth -= 1;
    return made;
  }

  /** @param {number} count */
  map(count) {
    this.enter(2 * count);
    const made = Object.create(null);
    for (let k = 0; k < count; k++) {
      const key = this.value();
      if (typeof key !== 'string') throw bad('a key of a map is not a string');
      if (key in made) throw bad('a map has the same key twice');
      made[key] = this.value();
    }
    this.depth -= 1;
    return made;
  }
}

/**
 * The one value of `bytes`.
 *
 * @param {Uint8Array} bytes
 * @param {{ nesting: number, values: number }} limits
 * @returns {unknown}
 * @throws {AbrError} `bad_message`: not exactly one value of the protocol's form.
 */
export function unpack(bytes, { nesting, values }) {
  const reader = new Reader(bytes, nesting, values);
  const value = reader.value();
  if (reader.at !== bytes.length) throw bad("bytes follow the message's one value");
  return value;
}

// ---- out

class Writer {
  bytes = new Uint8Array(256);
  size = 0;

  /** @param {number} count bytes that follow; where they begin. */
  room(count) {
    const from = this.size;
    this.size += count;
    if (this.size > this.bytes.length) {
      const grown = new Uint8Array(Math.max(this.size, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, from));
      this.bytes = grown;
    }
    return from;
  }

  /**
   * A first byte, and an unsigned integer of `size` bytes after it.
   *
   * @param {number} first
   * @param {number} size 0, 1, 2, 4 or 8.
   * @param {number} value
   */
  head(first, size, value) {
    const at = this.room(1 + size);
    this.bytes[at] = first;
    for (let k = size, rest = value; k > 0; k--, rest = Math.floor(rest / 256))
      this.bytes[at + k] = rest % 256;
  }

  /**
   * The head of a string, binary, array or map.
   *
   * @param {number} count
   * @param {number} small the first byte for a count of 0.
   * @param {number} below counts from here on are written apart.
   * @param {number} first the first byte of the shortest form apart.
   * @param {number} size its bytes: 1 or 2.
   */
  sized(count, small, below, first, size) {
    if (count < below) return this.head(small + count, 0, 0);
    if (size === 1 && count < 0x100) return this.head(first, 1, count);
    const wide = count < 0x10000 ? 2 : 4;
    return this.head(first + (wide / size === 4 ? 2 : wide / size === 2 ? 1 : 0), wide, count);
  }

  /** @param {number} value an integer is written in its shortest form, anything else as a float. */
  number(value) {
    if (!Number.isSafeInteger(value)) {
      const at = this.room(9);
      this.bytes[at] = 0xcb;
      new DataView(this.bytes.buffer).setFloat64(at + 1, value);
    } else if (value >= 0) {
      if (value < 0x80) this.head(value, 0, 0);
      else if (value < 0x100) this.head(0xcc, 1, value);
      else if (value < 0x10000) this.head(0xcd, 2, value);
      else if (value < 2 ** 32) this.head(0xce, 4, value);
      else this.head(0xcf, 8, value);
    } else if (value >= -0x20) this.head(256 + value, 0, 0);
    else if (value >= -0x80) this.head(0xd0, 1, value + 0x100);
    else if (value >= -0x8000) this.head(0xd1, 2, value + 0x10000);
    else if (value >= -(2 ** 31)) this.head(0xd2, 4, value + 2 ** 32);
    else this.wide(value);
  }

  /** @param {number} value below -2^31: two's complement in two words, each of which is exact. */
  wide(value) {
    const at = this.room(9);
    this.bytes[at] = 0xd3;
    const view = new DataView(this.bytes.buffer);
    view.setInt32(at + 1, Math.floor(value / 2 ** 32));
    view.setUint32(at + 5, value - Math.floor(value / 2 ** 32) * 2 ** 32);
  }

  /** @param {Uint8Array} bytes */
  raw(bytes) {
    const at = this.room(bytes.length);
    this.bytes.set(bytes, at);
  }

  /** @param {unknown} value */
  value(value) {
    if (value === null) this.head(0xc0, 0, 0);
    else if (typeof value === 'boolean') this.head(value ? 0xc3 : 0xc2, 0, 0);
    else if (typeof value === 'number') this.number(value);
    else if (typeof value === 'string') this.string(value);
    else if (value instanceof Uint8Array) {
      this.sized(value.length, 0, 0, 0xc4, 1);
      this.raw(value);
    } else if (Array.isArray(value)) {
      this.sized(value.length, 0x90, 16, 0xdc, 2);
      for (const item of value) this.value(item);
    } else this.map(value instanceof Entries ? value.pairs : sorted(/** @type {object} */ (value)));
  }

  /** @param {string} text */
  string(text) {
    const bytes = encodeUtf8(text);
    this.sized(bytes.length, 0xa0, 32, 0xd9, 1);
    this.raw(bytes);
  }

  /** @param {[string, unknown][]} pairs */
  map(pairs) {
    this.sized(pairs.length, 0x80, 16, 0xde, 2);
    for (const [key, value] of pairs) {
      this.string(key);
      this.value(value);
    }
  }
}

/**
 * The entries of a plain object by the code points of their keys.
 *
 * @param {object} map
 * @returns {[string, unknown][]}
 */
function sorted(map) {
  return Object.entries(map).sort(([a], [b]) => {
    const [left, right] = [Array.from(a), Array.from(b)];
    const at = left.findIndex((char, k) => char !== right[k]);
    if (at < 0) return left.length - right.length;
    return at < right.length
      ? /** @type {number} */ (left[at].codePointAt(0)) - /** @type {number} */ (right[at].codePointAt(0))
      : 1;
  });
}

/**
 * The canonical bytes of a value.
 *
 * @param {unknown} value null, boolean, number, string, `Uint8Array`, array, plain object, `Entries`.
 * @returns {Uint8Array}
 */
export function pack(value) {
  const writer = new Writer();
  writer.value(value);
  return writer.bytes.slice(0, writer.size);
}
