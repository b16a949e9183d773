/**
 * What a listener measures of arrivals: jitter and goodput. Pure arithmetic on what arrived when.
 */

/** Seconds over which goodput is counted: a few reports, so that a change shows in the next. */
const GOODPUT_WINDOW_S = 1;

/** Seconds of one bin of the goodput window, which bounds what is kept to 21 bins. */
const BIN_S = 0.05;

/**
 * Interarrival jitter of RFC 3550 section 6.4.1, with pts as the sender's timestamp, over messages
 * of one track. Speech sent ahead of real time has a large one by design, so this tells of the
 * link only while a sender keeps near real time.
 */
export class Jitter {
  #track = -1;
  #transit = 0;
  #seconds = -1;

  /** Milliseconds, -1 before two messages of one track have arrived. */
  get ms() {
    return this.#seconds >= 0 ? this.#seconds * 1000 : -1;
  }

  /**
   * A message of `track` arrived whose first packet lies at `ptsSeconds` of media.
   *
   * @param {number} track
   * @param {number} ptsSeconds
   * @param {number} now seconds.
   */
  arrived(track, ptsSeconds, now) {
    const transit = now - ptsSeconds;
    if (track === this.#track) {
      const jitter = Math.max(0, this.#seconds);
      this.#seconds = jitter + (Math.abs(transit - this.#transit) - jitter) / 16;
    }
    this.#track = track;
    this.#transit = transit;
  }
}

/**
 * Bytes a second over the last second: a lower bound of what the link carries, for a sender that
 * has nothing to send looks like a slow link.
 */
export class Goodput {
  /** @type {[number, number][]} */
  #bins = [];

  /**
   * `size` bytes arrived.
   *
   * @param {number} size
   * @param {number} now seconds.
   */
  add(size, now) {
    this.#prune(now);
    const last = this.#bins[this.#bins.length - 1];
    if (last && now - last[0] < BIN_S) last[1] += size;
    else this.#bins.push([now, size]);
  }

  /**
   * Bytes a second, -1 when nothing arrived within the window.
   *
   * @param {number} now seconds.
   */
  rate(now) {
    this.#prune(now);
    if (!this.#bins.length) return -1;
    const span = Math.max(now - this.#bins[0][0], 2 * BIN_S);
    const sum = this.#bins.reduce((total, [, size]) => total + size, 0);
    return sum / Math.min(GOODPUT_WINDOW_S, span);
  }

  /** @param {number} now */
  #prune(now) {
    while (this.#bins.length && now - this.#bins[0][0] >= GOODPUT_WINDOW_S) this.#bins.shift();
  }
}
