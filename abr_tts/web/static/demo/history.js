/**
 * What was measured lately, on the clock of the plots: seconds in which there was something to
 * measure. A pause between two speeches is one empty second, however long it was. Pure.
 */

/** Rungs from the best to the least (`abr_tts/control/ladder.py`); one that is not here stands last. */
export const LADDER = [
  ...['pcm24', 'pcm22', 'pcm16k', 'ulaw22', 'ulaw16k'],
  ...['opus64', 'opus48', 'opus32', 'opus24', 'opus16', 'opus12', 'opus8'],
];

/** Seconds that the plots show at most. */
export const WINDOW_S = 60;

/** Seconds that they show at least, empty ones after what there is. */
export const LEAST_S = 20;

/** Seconds without any sample after which the clock stood still. */
const IDLE_S = 2;

/** What a player tells four times a second; null where nothing is known. @typedef {{ sent: string | null, played: string | null, bank: number | null, rtt: number | null, goodput: number | null, stalls: number, stalled: boolean }} Sample */

/** A sample with its second. @typedef {Sample & { at: number }} Point */

/** A change of what is sent. @typedef {{ at: number, rank: number, from: string, to: string, reason: string }} Switch */

export class History {
  /** @type {Point[]} */
  points = [];
  /** @type {Switch[]} */
  switches = [];
  /** Every rung that was met, and those that may be expected. @type {Set<string>} */
  rungs = new Set();
  #offset = NaN;
  #last = 0;

  /** Where the clock stands, seconds. */
  get now() {
    return this.#last;
  }

  /**
   * @param {number} clock seconds, never going back.
   * @param {Sample} sample
   */
  add(clock, sample) {
    const at = this.#turn(clock);
    this.points.push({ ...sample, at });
    for (const rung of [sample.sent, sample.played]) if (rung) this.rungs.add(rung);
    this.#forget();
  }

  /**
   * @param {number} clock
   * @param {Omit<Switch, 'at'>} change
   */
  switched(clock, change) {
    this.switches.push({ ...change, at: this.#turn(clock) });
    this.rungs.add(change.from).add(change.to);
    this.#forget();
  }

  /** The first and the last second that the plots show. @returns {[number, number]} */
  get span() {
    return [Math.max(0, this.#last - WINDOW_S), Math.max(LEAST_S, this.#last)];
  }

  /** The rungs that are worth a row, the best first. */
  get rows() {
    const place = (/** @type {string} */ rung) => LADDER.indexOf(rung) + 1 || LADDER.length + 1;
    return [...this.rungs].sort((a, b) => place(a) - place(b));
  }

  /**
   * The point nearest to a second; undefined if there is none.
   *
   * @param {number} at
   * @returns {Point | undefined}
   */
  near(at) {
    let best;
    for (const point of this.points)
      if (!best || Math.abs(point.at - at) < Math.abs(best.at - at)) best = point;
    return best;
  }

  /**
   * The last point of each second, the newest first.
   *
   * @returns {Point[]}
   */
  seconds() {
    const last = new Map(this.points.map((point) => [Math.floor(point.at), point]));
    return [...last.values()].reverse();
  }

  /**
   * Stretches in which one property keeps its value, nothing where it is null.
   *
   * @param {'sent' | 'played' | 'stalled'} name
   * @returns {{ from: number, to: number, value: string | true }[]}
   */
  runs(name) {
    /** @type {{ from: number, to: number, value: string | true }[]} */
    const found = [];
    this.points.forEach((point, n) => {
      const value = point[name];
      const next = this.points[n + 1];
      const to = next && next.at - point.at < 1 ? next.at : point.at;
      const last = found.at(-1);
      if (!value) return;
      if (last && last.value === value && last.to === point.at) last.to = to;
      else found.push({ from: point.at, to, value });
    });
    return found;
  }

  /** @param {number} clock */
  #turn(clock) {
    if (Number.isNaN(this.#offset)) this.#offset = clock;
    if (clock - this.#offset - this.#last > IDLE_S) this.#offset = clock - this.#last - 1;
    this.#last = Math.max(this.#last, clock - this.#offset);
    return this.#last;
  }

  #forget() {
    const oldest = this.#last - WINDOW_S;
    while (this.points.length && this.points[0].at < oldest) this.points.shift();
    while (this.switches.length && this.switches[0].at < oldest) this.switches.shift();
  }
}
