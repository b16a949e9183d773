/**
 * What is heard, as frequencies over the last minute: a column at a time, on the clock of the plots.
 *
 * It stands between the player and the loudspeaker and so shows what that gets: the rung's bandwidth
 * can be seen. Where nothing sounds, nothing is drawn.
 */

import { WINDOW_S } from './history.js';

/** Highest frequency shown: Opus at 12 kbit/s ends at 4 to 6 kHz, 22 kHz PCM at 11. */
const TOP_HZ = 12_000;

/** Decibels of full scale that are shown as nothing, and as all: speech lies between. By eye. */
const FLOOR_DB = -95;
const FULL_DB = -30;

/** Columns a second, and rows: as fine as a screen shows a minute. */
const COLUMNS = 25;
const ROWS = 160;

/** Samples of a spectrum: 43 ms at 48 kHz, about two periods of a deep voice. */
const FFT = 2048;

/**
 * An AudioContext for `WebAudioSink` that tells of the node through which all its sound goes.
 *
 * @param {(node: AnalyserNode) => void} tell
 * @returns {typeof AudioContext}
 */
export function tapped(tell) {
  return class extends AudioContext {
    /** @param {AudioContextOptions} [options] */
    constructor(options) {
      super(options);
      const node = new AnalyserNode(this, { fftSize: FFT, smoothingTimeConstant: 0 });
      node.connect(this.destination);
      Object.defineProperty(this, 'destination', { value: node });
      tell(node);
    }
  };
}

export class Spectrogram {
  #canvas;
  #figure;
  /** The whole minute, whatever of it is shown. */
  #minute = Object.assign(document.createElement('canvas'), { width: WINDOW_S * COLUMNS, height: ROWS });
  /** @type {AnalyserNode | null} */
  #analyser = null;
  /** @type {Float32Array<ArrayBuffer>} */
  #bins = new Float32Array(FFT / 2);
  /** @type {[number, number, number][]} */
  #colours = [];
  /** Columns drawn since the page began, and those that have left the minute. */
  #drawn = 0;
  #gone = 0;

  /** @param {HTMLElement} figure hidden until there is something to show. */
  constructor(figure) {
    this.#figure = figure;
    this.#canvas = /** @type {HTMLCanvasElement} */ (figure.querySelector('canvas'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#clear());
  }

  /**
   * Show what goes through this node from now on.
   *
   * @param {AnalyserNode} node as `tapped` tells.
   */
  listen(node) {
    this.#analyser = node;
    this.#figure.hidden = false;
    if (!this.#colours.length) this.#clear();
  }

  /**
   * Draw what has passed since the last call.
   *
   * @param {number} now seconds on the clock of the plots.
   * @param {[number, number]} span first and last second shown.
   * @param {boolean} sounding whether anything is played.
   */
  draw(now, span, sounding) {
    const context = this.#minute.getContext('2d');
    if (!this.#analyser || !context) return;
    const to = Math.floor(now * COLUMNS);
    const count = Math.min(this.#minute.width, to - this.#drawn);
    if (count < 1) return;
    this.#drawn = to;
    const over = to - this.#gone - this.#minute.width;
    if (over > 0) context.drawImage(this.#minute, -over, 0);
    this.#gone += Math.max(0, over);
    context.putImageData(this.#column(context, count, sounding), to - this.#gone - count, 0);
    this.#show(span);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} count
   * @param {boolean} sounding
   */
  #column(context, count, sounding) {
    const image = context.createImageData(count, ROWS);
    this.#analyser?.getFloatFrequencyData(this.#bins);
    const perRow = (TOP_HZ * FFT) / (this.#analyser?.context.sampleRate ?? 1) / (ROWS - 1);
    for (let y = 0; y < ROWS; y++) {
      const db = sounding ? (this.#bins[Math.round((ROWS - 1 - y) * perRow)] ?? FLOOR_DB) : FLOOR_DB;
      const share = Math.min(1, Math.max(0, (db - FLOOR_DB) / (FULL_DB - FLOOR_DB)));
      const colour = this.#colours[Math.round(share * 255)];
      for (let x = 0; x < count; x++) image.data.set([...colour, 255], 4 * (y * count + x));
    }
    return image;
  }

  /** @param {[number, number]} span */
  #show([from, to]) {
    const context = this.#canvas.getContext('2d');
    if (!context) return;
    this.#canvas.width = Math.round(this.#canvas.clientWidth * devicePixelRatio);
    this.#canvas.height = Math.round(this.#canvas.clientHeight * devicePixelRatio);
    const { width, height } = this.#canvas;
    const x = from * COLUMNS - this.#gone;
    context.drawImage(this.#minute, x, 0, (to - from) * COLUMNS, ROWS, 0, 0, width, height);
  }

  /** Begin anew in the colours of the page as they are now. */
  #clear() {
    const style = getComputedStyle(this.#canvas);
    const [low, high] = ['--low', '--high'].map((name) => rgb(style.getPropertyValue(name)));
    this.#colours = Array.from({ length: 256 }, (_, n) => mix(low, high, n / 255));
    const context = this.#minute.getContext('2d', { willReadFrequently: true });
    if (!context) return;
    context.fillStyle = style.getPropertyValue('--low');
    context.fillRect(0, 0, this.#minute.width, this.#minute.height);
  }
}

/** @param {string} text `#rrggbb`. @returns {[number, number, number]} */
function rgb(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/**
 * @param {[number, number, number]} a
 * @param {[number, number, number]} b
 * @param {number} share of `b`.
 * @returns {[number, number, number]}
 */
function mix(a, b, share) {
  const part = (/** @type {number} */ n) => Math.round(a[n] + (b[n] - a[n]) * share);
  return [part(0), part(1), part(2)];
}
