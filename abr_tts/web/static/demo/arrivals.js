/**
 * Whether speech comes in just now. What is sent has a rung also while a link is dead or all is sent; only while
 * bytes come is there anything to draw of it. Pure.
 */

/** Seconds without a byte after which nothing comes: four figures of the player's, longer than between two messages. */
export const QUIET_S = 1;

export class Arrivals {
  #bytes = 0;
  #grew = -Infinity;

  /**
   * @param {number} bytes of the speech that came so far; fewer than before are those of the next speech.
   * @param {number} at seconds, never going back.
   * @returns {boolean} some came within `QUIET_S`.
   */
  note(bytes, at) {
    if (bytes < this.#bytes) this.#bytes = 0;
    if (bytes > this.#bytes) this.#grew = at;
    this.#bytes = bytes;
    return at - this.#grew < QUIET_S;
  }
}
