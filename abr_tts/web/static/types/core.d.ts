/**
 * Where the receive path runs: in a Worker, or on the page where there is none.
 *
 * Commands wait until it is known which, since a port can be given away once only.
 */
/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./terms.js').Tidings} Tidings */
/** @typedef {import('./speaker.js').Core} Core */
/** @typedef {import('./worker.js').Start} Start */
/**
 * @param {Start} start
 * @param {string | URL} url of the Worker's script.
 * @param {(tidings: Tidings) => void} tell
 * @returns {Core}
 */
export function workerCore(start: Start, url: string | URL, tell: (tidings: Tidings) => void): Core;
/**
 * @param {Start} start
 * @param {(tidings: Tidings) => void} tell
 * @param {import('./transport.js').Transport} [transport]
 * @returns {Core}
 */
export function pageCore(start: Start, tell: (tidings: Tidings) => void, transport?: import("./transport.js").Transport): Core;
export type Command = import("./terms.js").Command;
export type Tidings = import("./terms.js").Tidings;
export type Core = import("./speaker.js").Core;
export type Start = import("./worker.js").Start;
