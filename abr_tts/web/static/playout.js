/**
 * The listener's buffer: which track plays which frame, where sound fades, when it stalls.
 *
 * It decides by pts and rank alone. `protocol/vectors/playout.json` binds it, case by case; the
 * reading of the rules is `playout.md` beside it. It must not know samples, codecs or clocks:
 * whoever calls `render` keeps the time.
 */

import { PlayoutError } from './errors.js';
import { Held, HeldTrack } from './held.js';
import { FRAME_TICKS } from './units.js';

/** Contiguous sound needed before the first frame: 200 ms, rule 1 of the player. */
export const START_TICKS = 9_600;

/** Contiguous sound needed to go on after a stall: 200 ms, rule 6. */
export const REBUFFER_TICKS = 9_600;

/** Sound that a higher rank must hold before it is taken: ten frames, rule 3. */
export const UP_TICKS = 9_600;

/**
 * One frame to put out, and how. `pts`: where it stands, a multiple of 960. `track`: whose frame
 * is heard (at the end of the fade). `fadeFrom`: the track that the frame fades from, over its
 * whole length; it holds `pts` too. `fadeIn`: the first 5 ms rise from silence. `fadeOut`: the
 * last 5 ms fall to silence.
 *
 * @typedef {{ pts: number, track: number, fadeFrom: number | null, fadeIn: boolean, fadeOut: boolean }} Frame
 */

/** The player's rules as one object: arrivals in, frames out. */
export class Playout {
  /** The listener paused; the frame that fades out may be still to come. */
  paused = false;
  /** Times that the listener waited for sound in mid-speech. */
  stalls = 0;
  /** Silence that `render` gave for those stalls. */
  stallTicks = 0;
  #held;
  #startTicks;
  #next = 0;
  /** @type {number | null} */
  #end = null;
  /** @type {HeldTrack | null} */
  #current = null;
  /** The last frame put out did not end in silence. */
  #audible = false;
  /** No frame stood ready behind the last one. */
  #dry = false;
  #stalled = false;

  /**
   * @param {{ startTicks?: number, level?: number }} [settings] sound wanted before the first
   *   frame: less than 200 ms suits a proven link, 0 a reader without a clock, who calls `render`
   *   only while `canRender`; conformance level, see `Held`.
   */
  constructor({ startTicks = START_TICKS, level = 1 } = {}) {
    this.#held = new Held(level);
    this.#startTicks = startTicks;
  }

  // ---- arrivals

  /**
   * A track opens; its packets run from `start - 960·preroll` on, `duration` frames each.
   *
   * @param {number} track
   * @param {number} rank
   * @param {number} start
   * @param {number} [preroll]
   * @param {number} [duration]
   * @throws {PlayoutError} `track_in_use`, `bad_track`, `beyond_level` or `too_many_tracks`;
   *   nothing has changed.
   */
  open(track, rank, start, preroll = 0, duration = 1) {
    this.#held.open(new HeldTrack(track, rank, start, preroll, duration));
  }

  /**
   * `packets` consecutive packets arrive, the first at `pts`.
   *
   * @param {number} track
   * @param {number} pts
   * @param {number} packets
   * @returns {number} how many of them, from the first, the caller skips: they were here before,
   *   or come for a track that is gone.
   * @throws {PlayoutError} `unknown_track`, `bad_pts` or `gap`; nothing has changed.
   */
  hold(track, pts, packets) {
    return this.#held.hold(track, pts, packets);
  }

  /**
   * Within its rank `track` wins from `at` on (without this: from its start on). Retunes inside a
   * track (fades of length 0) are not told here.
   *
   * @param {number} track
   * @param {number} at
   * @throws {PlayoutError} `unknown_track`.
   */
  switch(track, at) {
    this.#held.switch(track, at);
  }

  /**
   * The true length is known; nothing new comes. The same length again is no fault.
   *
   * @param {number} ticks
   * @throws {PlayoutError} `end_changed`, and the first length stands.
   */
  end(ticks) {
    if (this.#end !== null && this.#end !== ticks) {
      throw new PlayoutError(`the stream ended at ${this.#end}, now it is ${ticks}`, 'end_changed');
    }
    this.#end = ticks;
  }

  /** The listener pauses: the next frame fades out, then the media clock stands. */
  pause() {
    this.paused = true;
  }

  /** The listener goes on. */
  resume() {
    this.paused = false;
  }

  // ---- what may be seen

  /** Whether the first frame was put out. */
  get started() {
    return this.#next > 0;
  }

  /** Whether everything was put out. */
  get finished() {
    return this.#end !== null && this.#next >= this.#end;
  }

  /** The true length in ticks, null while it is not known. */
  get endTicks() {
    return this.#end;
  }

  /** Ticks put out so far; at the end, the true length. */
  get played() {
    return Math.min(this.#next, this.#end ?? Infinity);
  }

  /** Ticks held without a hole from `played` on, at any rank, not beyond the end. */
  get bufferTicks() {
    return Math.max(0, Math.min(this.#held.reach(this.#next), this.#end ?? Infinity) - this.played);
  }

  /** The numbers of the tracks that are not gone, oldest first. */
  get live() {
    return this.#held.tracks.map(({ number }) => number);
  }

  /**
   * Track and pts of the last frame that came, of each live track that has any packet.
   *
   * @returns {[number, number][]}
   */
  get highest() {
    return this.#held.tracks
      .filter(({ next, first }) => next > first)
      .map(({ number, next }) => [number, next - FRAME_TICKS]);
  }

  /**
   * Track and pts of the next packet, of each live track: where a reconnect goes on.
   *
   * @returns {[number, number][]}
   */
  get wanted() {
    return this.#held.tracks.map(({ number, next }) => [number, next]);
  }

  /**
   * Whether `render` would give a frame now that need not fade out for want of the next.
   *
   * On a single track, what such a frame will be depends on nothing that is still to come.
   */
  get canRender() {
    if (this.paused || this.finished || (this.#waits && !this.#enough())) return false;
    return this.#choose(this.#next)[1];
  }

  // ---- frames

  /**
   * The next frame; it is committed and never changes.
   *
   * @returns {Frame | null} null for 20 ms of silence: before the start, in a stall, in a pause,
   *   after the end.
   */
  render() {
    if (this.finished || (this.paused && !this.#audible)) return null;
    if (this.#waits && !this.#enough()) {
      this.#noteStall();
      return null;
    }
    const [track, goesOn] = this.#choose(this.#next);
    if (!track) throw new Error('a frame is held wherever sound goes on');
    return this.#commit(track, goesOn);
  }

  /**
   * @param {HeldTrack} track
   * @param {boolean} goesOn
   */
  #commit(track, goesOn) {
    const [pts, before] = [this.#next, this.#current];
    const frame = {
      pts,
      track: track.number,
      fadeFrom: before && this.#audible && before !== track ? before.number : null,
      fadeIn: this.started && !this.#audible,
      fadeOut: !this.#isLast(pts) && (this.paused || !goesOn),
    };
    this.#next = pts + FRAME_TICKS;
    this.#current = track;
    this.#audible = !frame.fadeOut;
    this.#dry = this.#held.reach(this.#next) === this.#next;
    this.#stalled = false;
    this.#held.retire(this.#next);
    return frame;
  }

  /** @param {number} pts */
  #isLast(pts) {
    return this.#end !== null && pts + FRAME_TICKS >= this.#end;
  }

  /** Whether sound goes on only when enough of it is held. */
  get #waits() {
    return this.#dry || !this.started;
  }

  /** Whether what is held suffices to start, or to go on after a stall. */
  #enough() {
    const reach = this.#held.reach(this.#next);
    if (this.#end !== null && reach >= this.#end) return true;
    const need = this.started ? REBUFFER_TICKS : this.#startTicks;
    return reach - this.#next >= Math.max(need, FRAME_TICKS);
  }

  #noteStall() {
    if (!this.started) return;
    this.stalls += this.#stalled ? 0 : 1;
    this.#stalled = true;
    this.stallTicks += FRAME_TICKS;
  }

  // ---- choice

  /**
   * The track that plays the frame at `pts`, and whether sound goes on behind it.
   *
   * @param {number} pts
   * @returns {[HeldTrack | undefined, boolean]}
   */
  #choose(pts) {
    const until = this.#isLast(pts) ? pts : pts + FRAME_TICKS;
    const low = !this.#current || this.#current.rank === 0;
    // A low rank stays until the high one is ripe, yet an unripe one is better than silence.
    for (const rank of low && !this.#ripe(pts) ? [0, 1] : [1, 0]) {
      const track = this.#held.inForce(rank, pts, until);
      if (track) return [track, true];
    }
    return [this.#lastResort(pts), false];
  }

  /**
   * Whether rank 1 holds 200 ms from `pts` on, or all that is left.
   *
   * @param {number} pts
   */
  #ripe(pts) {
    return this.#held.reach(pts, 1) >= Math.min(pts + UP_TICKS, this.#end ?? Infinity);
  }

  /**
   * A track that holds the frame at `pts`, if none holds the next one too.
   *
   * @param {number} pts
   */
  #lastResort(pts) {
    if (this.#current?.holds(pts)) return this.#current;
    return this.#held.inForce(1, pts, pts) ?? this.#held.inForce(0, pts, pts);
  }
}
