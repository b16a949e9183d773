/**
 * @param {string} text any string, also with lone halves of pairs.
 * @returns {Uint8Array}
 */
export function encodeUtf8(text: string): Uint8Array;
/**
 * @param {Uint8Array} bytes
 * @returns {string | null} null where the bytes are no UTF-8. A lone half of a pair is allowed,
 *   two halves that make a pair must be written as one character.
 */
export function decodeUtf8(bytes: Uint8Array): string | null;
