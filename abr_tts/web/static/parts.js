/**
 * The sound of one speech, which may come in parts from one server after another: heard one behind the other.
 *
 * A `Listener` each; here they look like one, whose positions are of the whole. A part that was cut short is
 * complete in itself (SPEC.md, Moving), so that the next begins at its very end.
 */

import { Listener } from './listener.js';
import { ticksToMs } from './units.js';

/** @typedef {import('./listener.js').Meters} Meters */
/** @typedef {import('./report.js').Position} Position */

export class Parts {
  /** The last frame that was given, at its place in the whole. @type {import('./playout.js').Frame | null} */
  frame = null;
  #make;
  /** Those not heard to their end, in order; the last is received. @type {Listener[]} */
  #listeners;
  /** Ticks before the part that is given now, and before the one that is received now. */
  #before = 0;
  #begins = 0;
  /** What is left of parts that were given to their end. @type {Meters[]} */
  #past = [];
  /** A part was given to its end, and the next one has not begun. */
  #waits = false;
  #waited = { stalls: 0, frames: 0 };

  /** @param {ConstructorParameters<typeof Listener>[0]} settings */
  constructor(settings) {
    this.#make = () => new Listener(settings);
    this.#listeners = [this.#make()];
  }

  /** The part that is received. */
  get #receiving() {
    return /** @type {Listener} */ (this.#listeners.at(-1));
  }

  /** The part that is given. */
  get #giving() {
    while (this.#listeners.length > 1 && this.#listeners[0].finished) {
      const [listener] = this.#listeners.splice(0, 1);
      this.#before += listener.played;
      listener.close();
      this.#past.push(listener.meters);
    }
    return this.#listeners[0];
  }

  // ---- arrivals

  /** Ticks of the speech before the part that is received. */
  get begins() {
    return this.#begins;
  }

  /** @param {import('./messages.js').ServerMessage} message of the part that is received. */
  onMessage(message) {
    this.#receiving.onMessage(message);
  }

  /** The part that was received has its end; what comes now is the next. */
  grow() {
    this.#begins += this.#receiving.endTicks ?? 0;
    const listener = this.#make();
    if (this.paused) listener.pause();
    this.#listeners.push(listener);
  }

  get wanted() {
    return this.#receiving.wanted;
  }

  get endTicks() {
    return this.#receiving.endTicks;
  }

  /**
   * What a report on the part that is received says.
   *
   * @param {number} heard ticks of the speech that were heard.
   * @param {boolean} inFlight given and not heard.
   * @returns {Position}
   */
  position(heard, inFlight) {
    const { position } = this.#receiving;
    const played = Math.max(0, heard - this.#begins);
    const bufferMs = ticksToMs(position.played - played) + position.bufferMs;
    return { ...position, played, bufferMs, complete: position.complete && !inFlight };
  }

  // ---- sound

  /** As of `Listener`. */
  render() {
    const listener = this.#giving;
    const samples = listener.render();
    if (listener.frame) this.frame = { ...listener.frame, pts: listener.frame.pts + this.#before };
    if (samples) this.#waits = false;
    else if (this.#past.length && !listener.started && !listener.paused) {
      this.#waited.stalls += this.#waits ? 0 : 1;
      this.#waited.frames += 1;
      this.#waits = true;
    }
    return samples;
  }

  pause() {
    for (const listener of this.#listeners) listener.pause();
  }

  resume() {
    for (const listener of this.#listeners) listener.resume();
  }

  close() {
    for (const listener of this.#listeners) listener.close();
  }

  // ---- what may be seen

  get canRender() {
    return this.#giving.canRender;
  }

  get started() {
    return this.#giving.started || this.#past.length > 0;
  }

  get finished() {
    return this.#giving.finished && this.#listeners.length === 1;
  }

  get paused() {
    return this.#giving.paused;
  }

  /** Ticks of the whole that were given. */
  get played() {
    return this.#giving.played + this.#before;
  }

  /** Held beyond that, of all parts. */
  get bufferMs() {
    return [this.#giving, ...this.#listeners.slice(1)].reduce((sum, { bufferMs }) => sum + bufferMs, 0);
  }

  /** Track and pts of the last frame held, of the part that is received. */
  get highest() {
    return this.#receiving.position.highest;
  }

  /** @returns {Meters} of the whole. */
  get meters() {
    const { meters } = this.#giving;
    const all = [...this.#past, meters];
    /** @param {'switches' | 'stalls' | 'stallMs' | 'badPackets'} name */
    const sum = (name) => all.reduce((total, one) => total + one[name], 0);
    /** @type {Record<string, number>} */
    const seconds = {};
    for (const one of all)
      for (const [rung, time] of Object.entries(one.seconds)) seconds[rung] = (seconds[rung] ?? 0) + time;
    return {
      ...meters,
      rung: meters.rung ?? this.#past.at(-1)?.rung ?? null,
      seconds,
      switches: sum('switches'),
      stalls: sum('stalls') + this.#waited.stalls,
      stallMs: sum('stallMs') + this.#waited.frames * 20,
      playedMs: ticksToMs(this.played),
      bufferMs: this.bufferMs,
      badPackets: sum('badPackets'),
    };
  }
}
