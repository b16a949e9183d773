/**
 * The clockwork of a connection: greeting and silence deadlines, pings, and the round trip.
 *
 * Time is an argument. Says when something is due; who is told is the connection's affair.
 */

import { AbrError } from './errors.js';

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
export const PATIENCE = { helloS: 10, idleS: 90, pingS: 20, pongS: 20 };

/** Pings whose answer is still awaited; a choice: 2 s apart, more than half a minute of round trip. */
const PINGS_KEPT = 16;

export class Pulse {
  /** The last round trip seen, in milliseconds; null before the first. @type {number | null} */
  rttMs = null;
  #patience;
  #began;
  #heard;
  #greeted = false;
  #every;
  #next;
  #count = 0;
  /** @type {Map<number, number>} */
  #unanswered = new Map();
  /** @type {number | null} */
  #asked = null;

  /**
   * @param {Patience} patience
   * @param {number} now seconds on any monotonic clock, as everywhere below.
   */
  constructor(patience, now) {
    this.#patience = patience;
    this.#began = this.#heard = this.#next = now;
    this.#every = patience.pingS;
  }

  /**
   * Any message came.
   *
   * @param {number} now
   */
  heard(now) {
    this.#heard = now;
    this.#asked = null;
  }

  /**
   * `welcome` came, and wants a ping at least every `pingS` seconds.
   *
   * @param {number} pingS
   */
  greeted(pingS) {
    this.#greeted = true;
    this.#every = Math.min(this.#every, pingS);
    this.#next = this.#heard + this.#every;
    this.rttMs = (this.#heard - this.#began) * 1000;
  }

  /**
   * A ping goes out: its value.
   *
   * @param {number} now
   */
  ping(now) {
    this.#count += 1;
    this.#unanswered.set(this.#count, now);
    this.#unanswered.delete(this.#count - PINGS_KEPT);
    this.#asked ??= now;
    this.#next = now + this.#every;
    return this.#count;
  }

  /**
   * A pong came; one that answers no ping of ours says nothing.
   *
   * @param {number} value
   */
  pong(value) {
    const sent = this.#unanswered.get(value);
    if (sent === undefined) return;
    this.#unanswered.delete(value);
    this.rttMs = (this.#heard - sent) * 1000;
  }

  /** When the next ping is due. */
  get pingDue() {
    return this.#greeted ? this.#next : Infinity;
  }

  /** When the server counts as gone unless it is heard. */
  get deadline() {
    if (!this.#greeted) return this.#began + this.#patience.helloS;
    const silence = this.#heard + this.#patience.idleS;
    return this.#asked === null ? silence : Math.min(silence, this.#asked + this.#patience.pongS);
  }

  /** The error of a deadline that has passed. */
  fault() {
    if (!this.#greeted) return new AbrError('hello_timeout', `no welcome within ${this.#patience.helloS} s`);
    return new AbrError('idle_timeout', `nothing heard for ${this.deadline - this.#heard} s`);
  }
}
