/**
 * How fast a clip may go: a token bucket that the server fills. Time is an argument.
 *
 * `protocol/vectors/pace.json` binds it.
 */

/** Seconds of the rate that may go at once (SPEC.md, Clips). */
const BURST_S = 1;

const BYTES_PER_KBIT = 125;

/** Until the server has named one (SPEC.md, Clips). */
const KBPS = 1_000;

export class Pace {
  /** Bytes a second. */
  #rate = KBPS * BYTES_PER_KBIT;
  #tokens = KBPS * BYTES_PER_KBIT * BURST_S;
  #at = Infinity;

  /**
   * The server names a rate, the first or another; 0 stops everything until the next.
   *
   * @param {number} kbps
   * @param {number} now seconds, as everywhere below.
   */
  set(kbps, now) {
    this.#fill(now);
    this.#rate = kbps * BYTES_PER_KBIT;
    this.#tokens = Math.min(this.#tokens, this.#rate * BURST_S);
  }

  /**
   * Seconds until so many bytes may go; infinite where the rate is 0. A message that is larger than the
   * bucket goes when that is full.
   *
   * @param {number} size
   * @param {number} now
   */
  wait(size, now) {
    if (this.#rate === 0) return Infinity;
    this.#fill(now);
    return Math.max(0, (Math.min(size, this.#rate * BURST_S) - this.#tokens) / this.#rate);
  }

  /**
   * They went.
   *
   * @param {number} size
   * @param {number} now
   */
  sent(size, now) {
    this.#fill(now);
    this.#tokens -= size;
  }

  /** @param {number} now */
  #fill(now) {
    const saved = Math.max(0, now - this.#at) * this.#rate;
    this.#tokens = Math.min(this.#tokens + saved, this.#rate * BURST_S);
    this.#at = now;
  }
}
