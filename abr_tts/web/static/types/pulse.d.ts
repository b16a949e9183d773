/**
 * How long a client waits, in seconds.
 *
 * @typedef {{ helloS: number, idleS: number, pingS: number, pongS: number }} Patience
 */
/**
 * The protocol's defaults: for `welcome`; for any message at all; between two pings (three in the
 * 60 s that proxies wait); for any message after a ping (twice a radio outage of 10 s).
 *
 * @type {Patience}
 */
export const PATIENCE: Patience;
export class Pulse {
    /**
     * @param {Patience} patience
     * @param {number} now seconds on any monotonic clock, as everywhere below.
     */
    constructor(patience: Patience, now: number);
    /** The last round trip seen, in milliseconds; null before the first. @type {number | null} */
    rttMs: number | null;
    /**
     * Any message came.
     *
     * @param {number} now
     */
    heard(now: number): void;
    /**
     * `welcome` came, and wants a ping at least every `pingS` seconds.
     *
     * @param {number} pingS
     */
    greeted(pingS: number): void;
    /**
     * A ping goes out: its value.
     *
     * @param {number} now
     */
    ping(now: number): number;
    /**
     * A pong came; one that answers no ping of ours says nothing.
     *
     * @param {number} value
     */
    pong(value: number): void;
    /** When the next ping is due. */
    get pingDue(): number;
    /** When the server counts as gone unless it is heard. */
    get deadline(): number;
    /** The error of a deadline that has passed. */
    fault(): AbrError;
    #private;
}
/**
 * How long a client waits, in seconds.
 */
export type Patience = {
    helloS: number;
    idleS: number;
    pingS: number;
    pongS: number;
};
import { AbrError } from './errors.js';
