/**
 * What a fault usually ends, and the WebSocket close code where that is the connection.
 *
 * @param {string} code of `errors.json`.
 * @returns {{ scope: Scope, close: number | null }}
 */
export function meaningOf(code: string): {
    scope: Scope;
    close: number | null;
};
/**
 * A fault as an event tells it.
 *
 * @param {AbrError | import('./messages.js').ErrorMessage} fault
 */
export function told(fault: AbrError | import("./messages.js").ErrorMessage): {
    code: string;
    message: string;
    scope: Scope;
    retryAfter: number | null;
};
/** A fault that has a code of the wire. */
export class AbrError extends Error {
    /**
     * @param {string} code of `errors.json`.
     * @param {string} message one sentence for a person.
     * @param {Record<string, unknown>} [detail] small values for programs.
     * @param {number | null} [retryAfter] seconds after which the same may succeed.
     */
    constructor(code: string, message: string, detail?: Record<string, unknown>, retryAfter?: number | null);
    code: string;
    detail: Record<string, unknown>;
    retryAfter: number | null;
    /** @type {Scope} What it ends. */
    scope: Scope;
    /** WebSocket close code, null where the connection goes on. */
    close: number | null;
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
    constructor(message: string, fault: PlayoutFault);
    fault: PlayoutFault;
}
export type Scope = "connection" | "stream" | "nothing";
export type PlayoutFault = "unknown_track" | "gap" | "bad_pts" | "track_in_use" | "bad_track" | "beyond_level" | "too_many_tracks" | "end_changed" | "bad_format";
