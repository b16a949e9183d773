/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./messages.js').Welcome} Welcome */
/** @typedef {import('./codec.js').MessageLimits & import('./pulse.js').Patience} Limits */
/**
 * A message that is in order. `streamId` is the UUID of the stream it is about, if any.
 *
 * @typedef {{ kind: 'received', message: ServerMessage, streamId: string | null }} Received
 */
/**
 * A fault. `scope` says what ended: the stream `streamId`, the connection, or nothing. It may
 * differ from `error.scope`: a bad field of a message that is about no stream ends the connection.
 *
 * @typedef {{ kind: 'failed', error: AbrError, streamId: string | null,
 *   scope: import('./errors.js').Scope }} Failed
 */
/** @typedef {Received | Failed} Event */
/** Versions of the protocol that this code speaks. */
export const VERSIONS: number[];
/** The name of the WebSocket subprotocol, which both sides must name. */
export const SUBPROTOCOL: "abr-tts.v1";
export class Connection {
    /**
     * @param {number} now seconds on any monotonic clock, as everywhere below.
     * @param {Partial<Limits>} [limits] other than the protocol's defaults.
     */
    constructor(now: number, limits?: Partial<Limits>);
    closed: boolean;
    /** WebSocket close code, once closed. @type {number | null} */
    closeCode: number | null;
    closeReason: string;
    /** What the server said of itself; null until it did. @type {Welcome | null} */
    welcome: Welcome | null;
    /** The last round trip seen, of `hello` to `welcome`, then of pings, in ms; null before. */
    get rttMs(): number | null;
    /** Streams whose `stream_end` has not passed. */
    get activeStreams(): number;
    /**
     * One WebSocket message came. Then take events and data.
     *
     * @param {Uint8Array | string} data
     * @param {number} now
     */
    receive(data: Uint8Array | string, now: number): void;
    /** What happened since the last call. */
    eventsReceived(): Event[];
    /** Messages to write, in order, since the last call. */
    dataToSend(): Uint8Array<ArrayBufferLike>[];
    /**
     * Queue a message, and note what it does to its stream.
     *
     * Messages about a stream that is over, and all after the close, are dropped: they crossed.
     *
     * @param {ClientMessage} message
     * @returns {number} bytes queued; 0 when dropped.
     * @throws {AbrError} `bad_field`, `message_too_big`: the server would refuse it; `wrong_state`:
     *   no hello yet, or twice; what `Streams.start` and `ask` throw. Nothing has changed.
     */
    send(message: ClientMessage): number;
    /**
     * The listener has played a stream to its end: its handle is free, what still comes is ignored.
     *
     * @param {string} streamId
     */
    release(streamId: string): void;
    /**
     * Send a ping now, to measure the round trip; also when none is due.
     *
     * @param {number} now
     */
    ping(now: number): void;
    /**
     * The connection is over; write what `dataToSend` still gives, then close with this code.
     *
     * @param {number} [code]
     * @param {string} [reason]
     */
    close(code?: number, reason?: string): void;
    /** When `handleTimer` is to be called at the latest; null when closed. */
    getTimer(): number | null;
    /**
     * Time passed: a ping may be due, or the server may be gone.
     *
     * @param {number} now
     */
    handleTimer(now: number): void;
    #private;
}
export type ClientMessage = import("./messages.js").ClientMessage;
export type ServerMessage = import("./messages.js").ServerMessage;
export type Welcome = import("./messages.js").Welcome;
export type Limits = import("./codec.js").MessageLimits & import("./pulse.js").Patience;
/**
 * A message that is in order. `streamId` is the UUID of the stream it is about, if any.
 */
export type Received = {
    kind: "received";
    message: ServerMessage;
    streamId: string | null;
};
/**
 * A fault. `scope` says what ended: the stream `streamId`, the connection, or nothing. It may
 * differ from `error.scope`: a bad field of a message that is about no stream ends the connection.
 */
export type Failed = {
    kind: "failed";
    error: AbrError;
    streamId: string | null;
    scope: import("./errors.js").Scope;
};
export type Event = Received | Failed;
import { AbrError } from './errors.js';
