/**
 * The one value of `bytes`.
 *
 * @param {Uint8Array} bytes
 * @param {{ nesting: number, values: number }} limits
 * @returns {unknown}
 * @throws {AbrError} `bad_message`: not exactly one value of the protocol's form.
 */
export function unpack(bytes: Uint8Array, { nesting, values }: {
    nesting: number;
    values: number;
}): unknown;
/**
 * The canonical bytes of a value.
 *
 * @param {unknown} value null, boolean, number, string, `Uint8Array`, array, plain object, `Entries`.
 * @returns {Uint8Array}
 */
export function pack(value: unknown): Uint8Array;
/** A number that came as a float. */
export class Float {
    /** @param {number} value may be NaN or infinite. */
    constructor(value: number);
    value: number;
}
/**
 * A map whose entries are written in this order. Plain objects are written by code points of keys.
 */
export class Entries {
    /** @param {[string, unknown][]} pairs */
    constructor(pairs: [string, unknown][]);
    pairs: [string, unknown][];
}
