/**
 * What was heard: the time on each rung, and how often it changed.
 *
 * It must not know samples or why a rung was chosen.
 */

/** Follows the rung of each track from pts to pts, and counts what is played of it. */
export class RungTally {
  /** The rung heard last, null before the first. @type {string | null} */
  rung = null;
  /** Changes of the rung heard, whether by another track or by a retune. */
  switches = 0;
  /** Ticks heard of each rung. @type {Map<string, number>} */
  ticks = new Map();
  /** @type {Map<number, [number, string][]>} */
  #rungs = new Map();

  /**
   * A track opens at `rung`.
   *
   * @param {number} track
   * @param {string} rung
   */
  open(track, rung) {
    this.#rungs.set(track, [[0, rung]]);
  }

  /**
   * From the packet at `at` on, the track is at `rung`; an unknown track is ignored.
   *
   * @param {number} track
   * @param {number} at
   * @param {string} rung
   */
  retune(track, at, rung) {
    this.#rungs.get(track)?.push([at, rung]);
  }

  /**
   * Nothing more of this track will be heard.
   *
   * @param {number} track
   */
  forget(track) {
    this.#rungs.delete(track);
  }

  /**
   * `ticks` of the frame at `pts` were heard, from this track; pts grow.
   *
   * @param {number} track
   * @param {number} pts
   * @param {number} ticks
   */
  heard(track, pts, ticks) {
    const rungs = this.#rungs.get(track);
    if (!rungs) return;
    while (rungs.length > 1 && rungs[1][0] <= pts) rungs.shift();
    const [[, rung]] = rungs;
    this.switches += this.rung !== null && rung !== this.rung ? 1 : 0;
    this.rung = rung;
    this.ticks.set(rung, (this.ticks.get(rung) ?? 0) + ticks);
  }
}
