/**
 * The link that the listener spoils: two sliders, and what they ask of the server.
 *
 * The link is this page's own, under an id that it makes up. While one setting is on its way further
 * movements wait, and only the last of them is sent.
 */

import { ask, byId, html, write } from './dom.js';
import { rateText, sliderKbps, sliderPosition } from './scale.js';

/** @typedef {import('./words.js').Words} Words */

/** Speeds to begin with: a tunnel, an old mobile network, a bad and a good one, and none of it. */
const PRESETS = [0, 16, 40, 350, 2000, Infinity];

/** Hexadecimal digits of an id: 128 bits, so that nobody else meets it. */
const ID_BYTES = 16;

export class LinkControl extends EventTarget {
  id = [...crypto.getRandomValues(new Uint8Array(ID_BYTES))]
    .map((n) => n.toString(16).padStart(2, '0'))
    .join('');
  #rate = byId('rate', HTMLInputElement);
  #delay = byId('delay', HTMLInputElement);
  #presets = byId('rate-presets', HTMLElement);
  #words;
  #key;
  #most;
  #sending = false;
  #waits = false;

  /**
   * @param {Words} words
   * @param {() => string} key the API key now, empty for none.
   * @param {number} most kbit/s that stand for no limit.
   */
  constructor(words, key, most) {
    super();
    this.#words = words;
    this.#key = key;
    this.#most = most;
    for (const kbps of PRESETS) this.#presets.append(this.#preset(kbps));
    for (const slider of [this.#rate, this.#delay]) {
      slider.addEventListener('input', () => this.#moved());
      slider.addEventListener('change', () => this.#settled());
    }
    words.addEventListener('change', () => this.#show());
    this.#show();
  }

  /** Where the player connects, so that the stream goes through it. */
  get path() {
    return `demo/links/${this.id}/stream`;
  }

  /** Set the link as the sliders stand; returns when the server has it. */
  async send() {
    if (this.#sending) {
      this.#waits = true;
      return;
    }
    this.#sending = true;
    try {
      do {
        this.#waits = false;
        await this.#put();
      } while (this.#waits);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.dispatchEvent(new CustomEvent('failed', { detail: why }));
    } finally {
      this.#sending = false;
    }
  }

  async #put() {
    const kbps = Math.min(sliderKbps(Number(this.#rate.value)), this.#most);
    const body = JSON.stringify({ kbps, delay_ms: Number(this.#delay.value) });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await ask(`demo/links/${this.id}`, this.#key(), { method: 'PUT', body, headers });
    if (!answer.ok) throw new Error((await answer.text()).trim());
  }

  /** @param {number} kbps */
  #preset(kbps) {
    const button = html('button', { type: 'button', 'data-position': String(sliderPosition(kbps)) });
    button.addEventListener('click', () => {
      this.#rate.value = button.dataset.position ?? '';
      this.#moved();
      this.#settled();
    });
    return button;
  }

  #moved() {
    this.#show();
    void this.send();
  }

  #settled() {
    this.dispatchEvent(new CustomEvent('settled', { detail: this.#text(Number(this.#rate.value)) }));
  }

  /** @param {number} position */
  #text(position) {
    const kbps = sliderKbps(position);
    if (kbps === 0) return this.#words.say('rate-none');
    return Number.isFinite(kbps) ? rateText(kbps) : this.#words.say('rate-free');
  }

  #show() {
    const rate = this.#text(Number(this.#rate.value));
    write(byId('rate-shown', HTMLElement), rate);
    this.#rate.setAttribute('aria-valuetext', rate);
    write(byId('delay-shown', HTMLElement), `${this.#delay.value} ms`);
    this.#delay.setAttribute('aria-valuetext', `${this.#delay.value} ms`);
    for (const button of this.#presets.children) {
      const position = /** @type {HTMLElement} */ (button).dataset.position ?? '';
      write(button, this.#text(Number(position)));
      button.setAttribute('aria-pressed', String(position === this.#rate.value));
    }
  }
}
