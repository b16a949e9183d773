/**
 * The other end of the outlet: which samples are on their way to the loudspeaker, which were heard.
 *
 * What was given is kept until the outlet says that it went out, so that `played` is the truth and a
 * loudspeaker that died can be replaced at the very sample. Knows blocks and a port; it must not know
 * streams or who renders.
 */

/** @typedef {import('./outlet.js').Told} Told */
/** @typedef {import('./outlet.js').Order} Order */

/** What is used of a MessagePort. @typedef {{ postMessage(order: Order): void, onmessage: ((event: { data: Told }) => void) | null, close(): void }} Port */

/** Milliseconds that a dead outlet has to say where it stopped; then its last word counts. */
const ASK_MS = 100;

/** The cushion grows by so much when the outlet ran dry in mid-sound, up to `CUSHION_MOST_MS`: a guess. */
const CUSHION_STEP_MS = 40;
const CUSHION_MOST_MS = 400;

/**
 * @template Mark what the caller wants to hear of a block that was heard.
 * @typedef {{ samples: Float32Array, rest: boolean, mark: Mark }} Block
 */

/** @template Mark */
export class Feeder {
  /** Times that an outlet ran dry in mid-sound: this side was too slow. */
  starved = 0;
  /** Hz of the outlet, which never changes while something waits. */
  rate = 0;
  #cushionMs = 0;
  /** @type {Port | null} */
  #port = null;
  /** Blocks that are not heard to their end. @type {Block<Mark>[]} */
  #blocks = [];
  /** Samples of the first block that are heard. */
  #heard = 0;
  /** Samples in `#blocks`. */
  #size = 0;
  /** Samples that were flushed here and that the outlet will still count as taken. */
  #lost = 0;
  #held = false;
  /** @type {Told} */
  #told = { taken: 0, idle: 0, starved: 0 };
  #onHeard;
  #onNews;
  #later;

  /**
   * @param {{ onHeard(mark: Mark): void, onNews(idle: number): void, later(call: () => void, ms: number): unknown }} host
   *   `onHeard`: a block went out to its end; `onNews`: the outlet spoke, and there were `idle` samples
   *   of silence; `later`: setTimeout.
   */
  constructor({ onHeard, onNews, later }) {
    this.#onHeard = onHeard;
    this.#onNews = onNews;
    this.#later = later;
  }

  /** Samples given that are not heard. */
  get queued() {
    return this.#size - this.#heard;
  }

  /** Whether nothing is on its way to the loudspeaker, not even the fade of what was dropped. */
  get quiet() {
    return !this.#port || this.queued + this.#lost === 0;
  }

  /** Whether more should be given. */
  get hungry() {
    return this.queued < (this.rate * this.#cushionMs) / 1000;
  }

  /**
   * Samples go to this port from here on; those on their way to another one are sent again, from the
   * sample at which it stopped.
   *
   * @param {Port} port
   * @param {number} rate Hz.
   * @param {number} cushionMs what is to lie ready at the outlet: as much as its thread may be late.
   */
  attach(port, rate, cushionMs) {
    this.rate = rate;
    this.#cushionMs = Math.max(cushionMs, this.#cushionMs);
    const old = this.#port;
    if (old) this.#takeOver(old, port);
    else this.#start(port);
  }

  /**
   * @param {Port} old
   * @param {Port} port
   */
  #takeOver(old, port) {
    let waits = true;
    const go = () => {
      if (!waits) return;
      waits = false;
      this.#leave(old);
      this.#start(port);
    };
    old.onmessage = ({ data }) => {
      this.#note(data);
      go();
    };
    old.postMessage({ ask: true });
    this.#later(go, ASK_MS);
  }

  /** @param {Port} port */
  #start(port) {
    this.#port = port;
    this.#lost = 0;
    this.#told = { taken: 0, idle: 0, starved: 0 };
    port.onmessage = ({ data }) => this.#onNews(this.#note(data));
    this.#blocks.forEach(({ samples, rest }, n) => {
      port.postMessage({ block: n ? samples : samples.slice(this.#heard), rest });
    });
    if (this.#held) port.postMessage({ hold: true });
    this.#onNews(0);
  }

  /**
   * Give a block.
   *
   * @param {Float32Array} samples
   * @param {boolean} rest silence may follow it.
   * @param {Mark} mark
   */
  push(samples, rest, mark) {
    this.#blocks.push({ samples, rest, mark });
    this.#size += samples.length;
    this.#port?.postMessage({ block: samples, rest });
    if (!samples.length) this.#pass(0);
  }

  /**
   * Stand still, over a short fade, or go on with the next sample.
   *
   * @param {boolean} held
   */
  hold(held) {
    this.#held = held;
    this.#port?.postMessage({ hold: held });
  }

  /**
   * Drop what is not heard yet, over a short fade; a hold ends.
   *
   * @param {(mark: Mark) => boolean} [keeps] whose blocks come after the fade, untouched.
   */
  flush(keeps = () => false) {
    const kept = this.#blocks.filter(({ mark }) => keeps(mark));
    this.#held = false;
    this.#port?.postMessage({ flush: true });
    this.#lost += this.queued;
    this.#blocks = [];
    this.#size = this.#heard = 0;
    for (const { samples, rest, mark } of kept) this.push(samples, rest, mark);
  }

  /** The outlet ends. */
  close() {
    if (this.#port) this.#leave(this.#port);
    this.#port = null;
    this.#held = false;
    this.#blocks = [];
    this.#size = this.#heard = this.#lost = 0;
  }

  /** @param {Port} port */
  #leave(port) {
    port.onmessage = null;
    port.postMessage({ stop: true });
    port.close();
  }

  /**
   * @param {Told} told
   * @returns {number} samples of silence since its last word.
   */
  #note(told) {
    const { taken, idle, starved } = this.#told;
    this.#told = told;
    if (told.starved > starved) {
      this.starved += told.starved - starved;
      this.#cushionMs = Math.min(
        this.#cushionMs + CUSHION_STEP_MS,
        Math.max(CUSHION_MOST_MS, this.#cushionMs),
      );
    }
    const fresh = told.taken - taken;
    const gone = Math.min(fresh, this.#lost);
    this.#lost -= gone;
    this.#pass(fresh - gone);
    return told.idle - idle;
  }

  /** @param {number} count samples that went out. */
  #pass(count) {
    this.#heard += count;
    for (let first = this.#blocks[0]; first && this.#heard >= first.samples.length; first = this.#blocks[0]) {
      this.#blocks.shift();
      this.#heard -= first.samples.length;
      this.#size -= first.samples.length;
      this.#onHeard(first.mark);
    }
  }
}
