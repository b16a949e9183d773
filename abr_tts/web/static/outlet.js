/**
 * The loudspeaker's end: blocks of samples in, exactly as many samples as asked for out.
 *
 * It runs where sound is made (an AudioWorklet, a ScriptProcessor, a mini-program) and must never
 * wait. When blocks fail to come in mid-sound, because the page was held up, it fades and waits; it
 * never repeats, drops or invents. It knows no pts, no stream and no network.
 */

/** Milliseconds of the fade when blocks fail to come, and of the one when they are back. */
const FADE_MS = 5;

/** What an outlet tells the feeder: samples taken and samples of silence so far; times that blocks failed to come. @typedef {{ taken: number, idle: number, starved: number }} Told */

/** What a feeder tells an outlet. @typedef {{ block: Float32Array, rest: boolean } | { flush: true } | { hold: boolean } | { ask: true } | { stop: true }} Order */

export class Outlet {
  /** Samples that went out, or were dropped by `flush`. */
  taken = 0;
  /** Samples of silence that went out for want of others. */
  idle = 0;
  /** Times that sound was cut short because the next block had not come. */
  starved = 0;
  /** No more is to come: whoever calls `fill` may stop. */
  stopped = false;
  /** @type {Float32Array[]} */
  #blocks = [];
  #at = 0;
  #left = 0;
  #rests = true;
  #held = false;
  #gain = 1;
  #fade;
  #told = 0;

  /** @param {number} rate Hz. */
  constructor(rate) {
    this.#fade = Math.round((rate * FADE_MS) / 1000);
  }

  /** Samples that wait to go out. */
  get left() {
    return this.#left;
  }

  /**
   * Do what the feeder says.
   *
   * @param {Order} order
   */
  obey(order) {
    if ('block' in order) this.#push(order.block, order.rest);
    else if ('flush' in order) this.#flush();
    else if ('hold' in order) this.#held = order.hold;
    else if ('stop' in order) this.stopped = true;
  }

  /**
   * @param {Float32Array} block
   * @param {boolean} rest silence may follow it: it ends in silence, or sound ends here.
   */
  #push(block, rest) {
    if (block.length) this.#blocks.push(block);
    this.#left += block.length;
    this.#rests = rest;
  }

  /** All that waits is dropped, but for 5 ms that fade. */
  #flush() {
    const last = new Float32Array(this.#gain === 0 ? 0 : Math.min(this.#fade, this.#left));
    const before = this.taken;
    for (let n = 0; n < last.length; n++) {
      last[n] = this.#blocks[0][this.#at] * this.#gain * (1 - (n + 1) / last.length);
      this.#pass(1, this.#blocks[0].length);
    }
    this.taken = before + this.#left; // what fades is counted when it goes out
    this.#blocks = last.length ? [last] : [];
    this.#left = last.length;
    this.#at = 0;
    this.#gain = 1;
    this.#rests = true;
    this.#held = false;
  }

  /**
   * The next samples.
   *
   * @param {Float32Array} out is filled, with silence where there is nothing else.
   */
  fill(out) {
    let n = 0;
    while (n < out.length && this.#left > 0 && !(this.#held && this.#gain === 0)) {
      const block = this.#blocks[0];
      const plain =
        this.#gain === 1 && !this.#held && (this.#rests || this.#left - this.#fade > out.length - n);
      const count = plain ? Math.min(out.length - n, block.length - this.#at) : 1;
      if (plain) out.set(block.subarray(this.#at, this.#at + count), n);
      else out[n] = block[this.#at] * this.#slide();
      n += count;
      this.#pass(count, block.length);
    }
    if (n < out.length) this.#silence(out, n);
  }

  /** The gain of the next sample: down in a pause, and while the end is near and nothing follows; else up. */
  #slide() {
    const up = !this.#held && (this.#rests || this.#left > this.#fade);
    this.#gain = Math.min(1, Math.max(0, this.#gain + (up ? 1 : -1) / this.#fade));
    return this.#gain;
  }

  /**
   * @param {number} count
   * @param {number} size
   */
  #pass(count, size) {
    this.taken += count;
    this.#left -= count;
    this.#at += count;
    if (this.#at < size) return;
    this.#blocks.shift();
    this.#at = 0;
  }

  /**
   * @param {Float32Array} out
   * @param {number} from
   */
  #silence(out, from) {
    out.fill(0, from);
    this.idle += out.length - from;
    if (this.#held) return;
    if (this.#rests) {
      this.#gain = 1;
    } else if (this.#gain !== 0 || from) {
      this.#gain = 0;
      this.starved += 1;
    }
  }

  /** @returns {Told} */
  get told() {
    return { taken: this.taken, idle: this.idle, starved: this.starved };
  }

  /**
   * What to tell after a `fill`, if it is time: every `every` samples.
   *
   * @param {number} every
   * @returns {Told | null}
   */
  news(every) {
    const passed = this.taken + this.idle;
    if (passed - this.#told < every) return null;
    this.#told = passed;
    return this.told;
  }
}
