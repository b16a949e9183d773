/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** What is asked for beside the sound. @typedef {Omit<import('./messages.js').AudioStart, 'type' | 'stream_id' | 'codec' | 'sample_rate' | 'channels'>} Wish */
/** Bytes that may wait on this side before a clip is held back (SPEC.md, Clips). */
export const UNSENT_BYTES: 65536;
export class Sending {
    /**
     * @param {string} id a UUID.
     * @param {Wish} request
     * @param {number} rate Hz of the samples.
     * @throws {RangeError} it has no whole frames of 20 ms.
     */
    constructor(id: string, request: Wish, rate: number);
    /** It was asked for on the connection that is open now. */
    asked: boolean;
    /** Its number on that connection, once it has started. @type {number | null} */
    handle: number | null;
    /** Its name on the wire; a new one when it must be asked for anew. */
    streamId: string;
    /** There is no text in it, and nothing of it is asked of another server. */
    text: string;
    said: number;
    /** What ends it at the next connection: it ends by itself. @type {ClientMessage[]} */
    unwanted: ClientMessage[];
    /** The server was told that this is all. */
    complete: boolean;
    /** How messages name the stream. */
    get stream(): string | number;
    /**
     * The messages that ask for it; for the rest of the answer, where all was sent.
     *
     * @param {[number, number][]} wanted track and pts of the next packet of each live track.
     * @param {number} played ticks heard.
     * @returns {ClientMessage[]}
     */
    ask(wanted: [number, number][], played: number): ClientMessage[];
    /**
     * More sound, or its end.
     *
     * @param {Float32Array | null} samples null: it ends.
     */
    write(samples: Float32Array | null): void;
    /**
     * The server takes it.
     *
     * @param {import('./messages.js').StreamStarted} message
     * @returns {ClientMessage[]}
     */
    started({ stream, token }: import("./messages.js").StreamStarted): ClientMessage[];
    /**
     * The server names a rate.
     *
     * @param {number} kbps
     * @param {number} now seconds, as everywhere below.
     */
    flow(kbps: number, now: number): void;
    /** A server that stops has not begun with it: the whole is to be asked of another. */
    elsewhere(): boolean;
    /**
     * The connection is lost: what was not sent to its end is sent anew.
     *
     * @param {() => string} again gives a new name.
     */
    lost(again: () => string): void;
    /**
     * The next message, if one may go; it counts as sent.
     *
     * @param {number} now
     * @param {number} unsent bytes that wait on this side.
     * @returns {ClientMessage | null}
     */
    poll(now: number, unsent: number): ClientMessage | null;
    /**
     * Seconds until a message may go; infinite while there is none, or none may.
     *
     * @param {number} now
     * @param {number} unsent
     */
    wait(now: number, unsent: number): number;
    #private;
}
export type ClientMessage = import("./messages.js").ClientMessage;
/**
 * What is asked for beside the sound.
 */
export type Wish = Omit<import("./messages.js").AudioStart, "type" | "stream_id" | "codec" | "sample_rate" | "channels">;
