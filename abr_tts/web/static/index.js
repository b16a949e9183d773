/**
 * The core of the client, whole: everything here is pure. No socket, no clock, no loudspeaker, no
 * global of a browser, so that the same code runs in a page, a Worker, Node and a mini-program.
 */

export { Connection, SUBPROTOCOL, VERSIONS } from './connection.js';
export { MESSAGE_LIMITS, decode, encode } from './codec.js';
export { AbrError, PlayoutError, meaningOf } from './errors.js';
export { Listener } from './listener.js';
export { Playout, START_TICKS } from './playout.js';
export { Reporter } from './report.js';
export { Resampler } from './resample.js';
export { TrackDecoder } from './decoding.js';
export { toInt16 } from './pcm.js';
export { mayRetry, retryDelay } from './retry.js';
export { FRAME_TICKS, TICKS_PER_SECOND, ticksToMs } from './units.js';

/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./connection.js').Event} ConnectionEvent */
/** @typedef {import('./decoding.js').Opus} Opus */
/** @typedef {import('./decoding.js').OpusDecoder} OpusDecoder */
/** @typedef {import('./listener.js').Meters} Meters */
/** @typedef {import('./playout.js').Frame} Frame */
/** @typedef {import('./report.js').Position} Position */
