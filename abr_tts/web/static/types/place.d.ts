/** A random UUID; `crypto.randomUUID` is missing on plain http. */
export function uuid(): string;
/**
 * A UUID of version 4 (RFC 9562 section 5.4).
 *
 * @param {Uint8Array} bytes 16 random ones.
 */
export function uuidOf(bytes: Uint8Array): string;
/**
 * @param {string | import('./opus.js').OpusModule} wasm where `opus.wasm` lies, or what it holds.
 * @param {import('./transport.js').Transport} [transport]
 * @returns {Place}
 */
export function browserPlace(wasm: string | import("./opus.js").OpusModule, transport?: import("./transport.js").Transport): Place;
/** @typedef {import('./terms.js').Place} Place */
/** @type {import('./pump.js').Clock} */
export const clock: import("./pump.js").Clock;
export type Place = import("./terms.js").Place;
