/**
 * The AudioWorklet around an outlet: samples from a port to the loudspeaker, on the audio thread.
 *
 * The port comes in a message and leads to whoever feeds, past the page's own thread.
 */

import { Outlet } from './outlet.js';

/** News of the outlet, times a second: as often as frames are played. */
const NEWS_HZ = 50;

/**
 * The globals of an AudioWorklet, which TypeScript's library of the page does not have.
 *
 * @typedef {{ sampleRate: number, AudioWorkletProcessor: new () => { port: MessagePort },
 *   registerProcessor(name: string, processor: unknown): void }} WorkletScope
 */

const scope = /** @type {WorkletScope} */ (/** @type {unknown} */ (globalThis));

class OutletProcessor extends scope.AudioWorkletProcessor {
  #outlet = new Outlet(scope.sampleRate);
  /** @type {MessagePort | null} */
  #feed = null;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      const feed = /** @type {MessagePort} */ (data);
      this.#feed = feed;
      feed.onmessage = ({ data: order }) => this.#obey(order);
    };
  }

  /** @param {import('./outlet.js').Order} order */
  #obey(order) {
    this.#outlet.obey(order);
    if ('ask' in order) this.#feed?.postMessage(this.#outlet.told);
    if ('stop' in order) this.#feed?.close();
  }

  /**
   * @param {Float32Array[][]} _inputs there are none.
   * @param {Float32Array[][]} outputs
   * @returns {boolean} whether it goes on: false lets the browser forget this node.
   */
  process(_inputs, [[out]]) {
    if (this.#outlet.stopped) return false;
    this.#outlet.fill(out);
    const news = this.#outlet.news(scope.sampleRate / NEWS_HZ);
    if (news) this.#feed?.postMessage(news);
    return true;
  }
}

scope.registerProcessor('abr-tts-outlet', OutletProcessor);
