/** @typedef {import('./messages.js').BitRateHint} BitRateHint */
/**
 * `played`: ticks rendered. `bufferMs`: contiguous speech ahead of that, at any rank. `stalls`,
 * `stallMs`: waits in mid-speech so far. `highest`: track and pts of the last frame held of every
 * live track. `complete`: the last sample of the stream was rendered.
 *
 * @typedef {{ played: number, bufferMs: number, stalls: number, stallMs: number,
 *   highest: [number, number][], complete: boolean }} Position
 */
/**
 * What the server was last told of a stream, and when; `looked`: when we last asked.
 *
 * @typedef {{ at: number, received: number, said: string, complete: boolean, jitter: Jitter,
 *   looked: number }} Told
 */
/** Bytes since the last report that make the next due at the shortest interval: above one TCP segment. */
export const PROMPT_BYTES: 2000;
/** Seconds after which anything that changed is reported: the short end of SPEC.md's 250 to 500 ms. */
export const CHANGED_S: 0.25;
/** Seconds after which even an unchanged state is reported, so that silence means trouble. */
export const SILENT_S: 0.5;
/** Of the downlink's bytes, at most this share goes back as reports (RTCP's share, RFC 3550 6.2). */
export const UPLINK_SHARE: 0.05;
/** Bytes a second that reports may use on any link: 2 kbit/s. */
export const UPLINK_FLOOR: 250;
/** Bytes of reports that may go ahead of either allowance: one second of the floor. */
export const UPLINK_BURST: 250;
/** Seconds between two pings while speech flows, as the Python client: a guess. */
export const PING_EVERY_S: 2;
/** Bytes that a client's WebSocket frame puts before a short message (RFC 6455 5.2: 2, mask 4). */
export const FRAME_HEADER: 6;
/** Decides and fills in the reports of every stream of one connection. */
export class Reporter {
    /**
     * @param {number} now seconds on a monotonic clock, as everywhere below.
     * @param {number} [hintMs]
     */
    constructor(now: number, hintMs?: number);
    /** WebSocket payload bytes of the connection so far. */
    received: number;
    /** The page is not seen. */
    hidden: boolean;
    /** The user asked to save data. */
    saveData: boolean;
    /** The shortest time between two reports of a stream, in seconds: `welcome.hint_ms`. */
    shortestS: number;
    /** When the round trip is to be measured next; matters while there are streams. */
    nextPing: number;
    /**
     * Reports of `stream` start; what arrived before is already old news.
     *
     * @param {number} stream
     * @param {number} now
     */
    open(stream: number, now: number): void;
    /**
     * No more reports of `stream`; an unknown one is ignored.
     *
     * @param {number} stream
     */
    close(stream: number): void;
    /**
     * A message of `size` payload bytes, of whatever kind, arrived.
     *
     * @param {number} size
     * @param {number} now
     */
    arrived(size: number, now: number): void;
    /**
     * It was audio of `stream`, its first packet at `pts` ticks.
     *
     * @param {number} stream
     * @param {number} track
     * @param {number} pts
     * @param {number} now
     */
    audio(stream: number, track: number, pts: number, now: number): void;
    /**
     * A ping went out, which measures the round trip.
     *
     * @param {number} now
     */
    pinged(now: number): void;
    /** Bytes a second that came lately, -1 when nothing did. @param {number} now */
    goodput(now: number): number;
    /**
     * The reports that are due, the stream that waited longest first. Each is to be sent at once; it
     * counts as told from here on.
     *
     * @param {number} now
     * @param {Map<number, Position>} positions of every open stream by its handle; one that is
     *   missing is not reported.
     * @param {number | null} [rttMs] the last round trip, null while it is not known.
     * @returns {BitRateHint[]}
     */
    poll(now: number, positions: Map<number, Position>, rttMs?: number | null): BitRateHint[];
    /** When `poll` may next find something due, or a ping is; null while nothing can be. */
    getTimer(): number | null;
    #private;
}
export type BitRateHint = import("./messages.js").BitRateHint;
/**
 * `played`: ticks rendered. `bufferMs`: contiguous speech ahead of that, at any rank. `stalls`,
 * `stallMs`: waits in mid-speech so far. `highest`: track and pts of the last frame held of every
 * live track. `complete`: the last sample of the stream was rendered.
 */
export type Position = {
    played: number;
    bufferMs: number;
    stalls: number;
    stallMs: number;
    highest: [number, number][];
    complete: boolean;
};
/**
 * What the server was last told of a stream, and when; `looked`: when we last asked.
 */
export type Told = {
    at: number;
    received: number;
    said: string;
    complete: boolean;
    jitter: Jitter;
    looked: number;
};
import { Jitter } from './meters.js';
