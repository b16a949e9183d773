/**
 * Every fault of the wire by its code, with what it ends, and the faults of playout.
 *
 * `protocol/errors.json` is the list; a test holds the two equal. A program looks at `code`
 * and `scope`, a person reads `message`.
 */

/** @typedef {'connection' | 'stream' | 'nothing'} Scope */

/** Codes that end the connection, with the WebSocket close code. */
const CLOSES = {
  bad_message: 1008,
  message_too_big: 1009,
  wrong_state: 1008,
  hello_timeout: 1008,
  idle_timeout: 1008,
  unsupported_version: 1008,
  unauthorized: 1008,
  rate_limited: 1008,
  overloaded: 1013,
  shutting_down: 1012,
  internal: 1011,
};

/** Codes that end nothing. Every other code, also one of a later version, ends a stream. */
const NOTICES = ['notice', 'queued', 'reduced', 'unknown_type', 'unknown_stream', 'unknown_script'];

/**
 * What a fault usually ends, and the WebSocket close code where that is the connection.
 *
 * @param {string} code of `errors.json`.
 * @returns {{ scope: Scope, close: number | null }}
 */
export function meaningOf(code) {
  if (Object.prototype.hasOwnProperty.call(CLOSES, code)) {
    return { scope: 'connection', close: CLOSES[/** @type {keyof typeof CLOSES} */ (code)] };
  }
  return { scope: NOTICES.includes(code) ? 'nothing' : 'stream', close: null };
}

/**
 * A fault as an event tells it.
 *
 * @param {AbrError | import('./messages.js').ErrorMessage} fault
 */
export function told(fault) {
  const { code, message, scope } = fault;
  return { code, message, scope, retryAfter: 'retryAfter' in fault ? fault.retryAfter : fault.retry_after };
}

/** A fault that has a code of the wire. */
export class AbrError extends Error {
  /**
   * @param {string} code of `errors.json`.
   * @param {string} message one sentence for a person.
   * @param {Record<string, unknown>} [detail] small values for programs.
   * @param {number | null} [retryAfter] seconds after which the same may succeed.
   */
  constructor(code, message, detail = {}, retryAfter = null) {
    super(message);
    this.name = 'AbrError';
    this.code = code;
    this.detail = detail;
    this.retryAfter = retryAfter;
    const { scope, close } = meaningOf(code);
    /** @type {Scope} What it ends. */
    this.scope = scope;
    /** WebSocket close code, null where the connection goes on. */
    this.close = close;
  }
}

/**
 * @typedef {'unknown_track' | 'gap' | 'bad_pts' | 'track_in_use' | 'bad_track' | 'beyond_level'
 *   | 'too_many_tracks' | 'end_changed' | 'bad_format'} PlayoutFault
 */

/** A server's message breaks the rules of tracks; the player has ignored it and can go on. */
export class PlayoutError extends Error {
  /**
   * @param {string} message one sentence for a person.
   * @param {PlayoutFault} fault as `protocol/vectors/playout.md` lists them.
   */
  constructor(message, fault) {
    super(message);
    this.name = 'PlayoutError';
    this.fault = fault;
  }
}
