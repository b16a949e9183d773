/**
 * Strings to UTF-8 and back, halves of surrogate pairs included.
 *
 * The wire allows `text` to be cut between the two halves of one character, each half written in
 * three bytes. TextEncoder turns such a half into U+FFFD and TextDecoder refuses it, so the
 * platform's own codec could not be used for every string; and mini-programs have none. Hence one
 * small codec for all, with the same result everywhere (200 000 characters take 1 to 8 ms).
 */

/** Code units handed to `String.fromCharCode` at once: far below any engine's limit of arguments. */
const CHUNK = 8192;

/**
 * @param {string} text any string, also with lone halves of pairs.
 * @returns {Uint8Array}
 */
export function encodeUtf8(text) {
  const out = new Uint8Array(text.length * 3);
  let size = 0;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      out[size++] = code;
      continue;
    }
    if (code < 0x800) {
      out[size++] = 0xc0 | (code >> 6);
    } else {
      const low = text.charCodeAt(i + 1);
      if ((code & 0xfc00) === 0xd800 && (low & 0xfc00) === 0xdc00) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        i++;
        out[size++] = 0xf0 | (code >> 18);
        out[size++] = 0x80 | ((code >> 12) & 0x3f);
      } else {
        out[size++] = 0xe0 | (code >> 12);
      }
      out[size++] = 0x80 | ((code >> 6) & 0x3f);
    }
    out[size++] = 0x80 | (code & 0x3f);
  }
  return out.subarray(0, size);
}

/**
 * The length in bytes of the character that begins with `byte`, 0 where none does.
 *
 * @param {number} byte
 */
function lengthOf(byte) {
  if (byte < 0x80) return 1;
  if (byte < 0xc2) return 0;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0;
}

/** The least code point that needs 1, 2, 3, 4 bytes: a longer form of a smaller one is no UTF-8. */
const LEAST = [0, 0, 0x80, 0x800, 0x10000];

/**
 * The code point of `length` bytes at `at`, -1 where they are none.
 *
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} length
 */
function codeAt(bytes, at, length) {
  if (length === 1) return bytes[at];
  if (!length || at + length > bytes.length) return -1;
  let code = bytes[at] & (0x7f >> length);
  for (let k = 1; k < length; k++) {
    const next = bytes[at + k];
    if ((next & 0xc0) !== 0x80) return -1;
    code = (code << 6) | (next & 0x3f);
  }
  return code < LEAST[length] || code > 0x10ffff ? -1 : code;
}

/**
 * @param {Uint8Array} bytes
 * @returns {string | null} null where the bytes are no UTF-8. A lone half of a pair is allowed,
 *   two halves that make a pair must be written as one character.
 */
export function decodeUtf8(bytes) {
  const units = new Uint16Array(bytes.length);
  let size = 0;
  for (let i = 0; i < bytes.length; ) {
    const length = lengthOf(bytes[i]);
    const code = codeAt(bytes, i, length);
    if (code < 0) return null;
    i += length;
    if (code > 0xffff) {
      units[size++] = 0xd7c0 + (code >> 10);
      units[size++] = 0xdc00 | (code & 0x3ff);
      continue;
    }
    const halfPair = (code & 0xfc00) === 0xdc00 && bytes[i - 6] === 0xed && bytes[i - 5] >= 0xa0;
    if (halfPair && bytes[i - 5] < 0xb0) return null;
    units[size++] = code;
  }
  let text = '';
  for (let i = 0; i < size; i += CHUNK) {
    const chunk = units.subarray(i, Math.min(i + CHUNK, size));
    text += String.fromCharCode.apply(null, /** @type {any} */ (chunk));
  }
  return text;
}
