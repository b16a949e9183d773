/**
 * The receiver report: when a listener says what it has, and what it says.
 *
 * A server cannot see past a proxy, so these reports are its clock. This decides when one is due
 * and fills it in. It knows no clock and no socket: time is an argument, and what a stream's
 * listener knows of itself comes in as a `Position`.
 *
 * ```
 * reporter.arrived(bytes.length, now);                   // every message of the connection
 * for (const hint of reporter.poll(now, positions, rttMs)) connection.send(hint);
 *                                                        // at getTimer(), and when a stream was heard out
 * ```
 */

import { encode } from './codec.js';
import { Goodput, Jitter } from './meters.js';
import { TICKS_PER_SECOND } from './units.js';

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
export const PROMPT_BYTES = 2_000;

/** Seconds after which anything that changed is reported: the short end of SPEC.md's 250 to 500 ms. */
export const CHANGED_S = 0.25;

/** Seconds after which even an unchanged state is reported, so that silence means trouble. */
export const SILENT_S = 0.5;

/** Of the downlink's bytes, at most this share goes back as reports (RTCP's share, RFC 3550 6.2). */
export const UPLINK_SHARE = 0.05;

/** Bytes a second that reports may use on any link: 2 kbit/s. */
export const UPLINK_FLOOR = 250;

/** Bytes of reports that may go ahead of either allowance: one second of the floor. */
export const UPLINK_BURST = 250;

/** Seconds between two pings while speech flows, as the Python client: a guess. */
export const PING_EVERY_S = 2;

/** Bytes that a client's WebSocket frame puts before a short message (RFC 6455 5.2: 2, mask 4). */
export const FRAME_HEADER = 6;

/** Bounds of a report's fields (protocol/schema.json); what lies beyond is told as the bound. */
const MOST = {
  bufferMs: 3_600_000,
  stallMs: 86_400_000,
  stalls: 1_000_000,
  ms: 60_000,
  kbps: 10_000_000,
  tracks: 16,
};

/**
 * What reports have cost and neither allowance has covered yet: two leaky buckets. One leaks with
 * time (the floor), one with the bytes that arrive (the share); a report is affordable while either
 * has room, so that the larger allowance rules.
 */
class Spent {
  #floor = 0;
  #share = 0;
  #now;
  #received = 0;

  /** @param {number} now */
  constructor(now) {
    this.#now = now;
  }

  /**
   * Time passed and bytes arrived.
   *
   * @param {number} now
   * @param {number} received
   */
  forgive(now, received) {
    this.#floor = Math.max(0, this.#floor - UPLINK_FLOOR * (now - this.#now));
    this.#share = Math.max(0, this.#share - UPLINK_SHARE * (received - this.#received));
    this.#now = now;
    this.#received = received;
  }

  /**
   * A report goes out; the fuller bucket does not overflow without end.
   *
   * @param {number} size bytes.
   */
  add(size) {
    const most = UPLINK_BURST + size;
    this.#floor = Math.min(this.#floor + size, most);
    this.#share = Math.min(this.#share + size, most);
  }

  /** Whether another may go. */
  get affordable() {
    return Math.min(this.#floor, this.#share) < UPLINK_BURST;
  }

  /**
   * When another may go, at the latest; minus infinity when the bytes so far allow it.
   *
   * @param {number} received
   */
  affordableAt(received) {
    if (this.#share - UPLINK_SHARE * (received - this.#received) < UPLINK_BURST) return -Infinity;
    // One byte beyond, or rounding could leave the bucket full at the very time given.
    return this.#now + Math.max(0, this.#floor - UPLINK_BURST + 1) / UPLINK_FLOOR;
  }
}

/** Decides and fills in the reports of every stream of one connection. */
export class Reporter {
  /** WebSocket payload bytes of the connection so far. */
  received = 0;
  /** The page is not seen. */
  hidden = false;
  /** The user asked to save data. */
  saveData = false;
  /** The shortest time between two reports of a stream, in seconds: `welcome.hint_ms`. */
  shortestS;
  /** When the round trip is to be measured next; matters while there are streams. */
  nextPing;
  #goodput = new Goodput();
  /** @type {Map<number, Told>} */
  #streams = new Map();
  #spent;

  /**
   * @param {number} now seconds on a monotonic clock, as everywhere below.
   * @param {number} [hintMs]
   */
  constructor(now, hintMs = 100) {
    this.shortestS = hintMs / 1000;
    this.nextPing = now;
    this.#spent = new Spent(now);
  }

  /**
   * Reports of `stream` start; what arrived before is already old news.
   *
   * @param {number} stream
   * @param {number} now
   */
  open(stream, now) {
    const position = { played: 0, bufferMs: 0, stalls: 0, stallMs: 0, highest: [], complete: false };
    const told = {
      at: now,
      received: this.received,
      said: this.#saying(position),
      complete: false,
      jitter: new Jitter(),
      looked: now,
    };
    this.#streams.set(stream, told);
  }

  /**
   * No more reports of `stream`; an unknown one is ignored.
   *
   * @param {number} stream
   */
  close(stream) {
    this.#streams.delete(stream);
  }

  /**
   * A message of `size` payload bytes, of whatever kind, arrived.
   *
   * @param {number} size
   * @param {number} now
   */
  arrived(size, now) {
    this.received += size;
    this.#goodput.add(size, now);
  }

  /**
   * It was audio of `stream`, its first packet at `pts` ticks.
   *
   * @param {number} stream
   * @param {number} track
   * @param {number} pts
   * @param {number} now
   */
  audio(stream, track, pts, now) {
    this.#streams.get(stream)?.jitter.arrived(track, pts / TICKS_PER_SECOND, now);
  }

  /**
   * A ping went out, which measures the round trip.
   *
   * @param {number} now
   */
  pinged(now) {
    this.nextPing = now + PING_EVERY_S;
  }

  /** Bytes a second that came lately, -1 when nothing did. @param {number} now */
  goodput(now) {
    return this.#goodput.rate(now);
  }

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
  poll(now, positions, rttMs = null) {
    this.#spent.forgive(now, this.received);
    const hints = [];
    for (const [stream, told] of [...this.#streams].sort(([, a], [, b]) => a.at - b.at)) {
      told.looked = now;
      const position = positions.get(stream);
      if (!position || !this.#isDue(told, position, now)) continue;
      if (!this.#spent.affordable && !position.complete) continue;
      const hint = this.#hint(stream, told, position, rttMs ?? -1, now);
      this.#spent.add(encode(hint).length + FRAME_HEADER);
      Object.assign(told, {
        at: now,
        received: this.received,
        said: this.#saying(position),
        complete: position.complete,
      });
      hints.push(hint);
    }
    return hints;
  }

  /** When `poll` may next find something due, or a ping is; null while nothing can be. */
  getTimer() {
    const looks = [...this.#streams.values()]
      .filter(({ complete }) => !complete)
      .map((told) => this.#nextLook(told));
    if (!looks.length) return null;
    return Math.min(Math.max(Math.min(...looks), this.#spent.affordableAt(this.received)), this.nextPing);
  }

  /** @param {Told} told */
  #nextLook(told) {
    if (this.received - told.received >= PROMPT_BYTES) return told.at + this.shortestS;
    const changed = told.at + CHANGED_S;
    return told.looked < changed ? changed : told.at + Math.max(SILENT_S, this.shortestS);
  }

  /**
   * @param {Told} told
   * @param {Position} position
   * @param {number} now
   */
  #isDue(told, position, now) {
    if (position.complete) return !told.complete;
    // Compared as sums, as `getTimer` gives them: a difference may round to just below.
    if (now < told.at + this.shortestS) return false;
    if (this.received - told.received >= PROMPT_BYTES || now >= told.at + SILENT_S) return true;
    return (
      now >= told.at + CHANGED_S && (this.received !== told.received || this.#saying(position) !== told.said)
    );
  }

  /**
   * All that a report would say of a stream's state, to be compared.
   *
   * @param {Position} position
   */
  #saying({ played, bufferMs, stalls, stallMs, highest }) {
    return [played, bufferMs, stalls, stallMs, highest, this.hidden, this.saveData].join();
  }

  /**
   * Measures go out as whole numbers, which take one to three bytes; bounds are the wire's.
   *
   * @param {number} stream
   * @param {Told} told
   * @param {Position} position
   * @param {number} rttMs
   * @param {number} now
   * @returns {BitRateHint}
   */
  #hint(stream, told, position, rttMs, now) {
    const rate = this.#goodput.rate(now);
    return {
      type: 'bit_rate_hint',
      stream,
      received: this.received,
      played: position.played,
      buffer_ms: Math.min(Math.round(position.bufferMs), MOST.bufferMs),
      rtt_ms: Math.min(Math.round(rttMs), MOST.ms),
      jitter_ms: Math.min(Math.round(told.jitter.ms), MOST.ms),
      goodput_kbps: rate < 0 ? -1 : Math.min(Math.round((rate * 8) / 1000), MOST.kbps),
      stalls: Math.min(position.stalls, MOST.stalls),
      stall_ms: Math.min(Math.round(position.stallMs), MOST.stallMs),
      highest: position.highest.slice(-MOST.tracks),
      hidden: this.hidden,
      save_data: this.saveData,
    };
  }
}
