/** The list of what happened, the newest last; a screen reader hears each line as it comes. */

import { html } from './dom.js';

/** Lines that are kept. */
const MOST = 200;

export class Log {
  #list;
  /** @type {number | null} */
  #begin = null;

  /** @param {HTMLElement} list */
  constructor(list) {
    this.#list = list;
  }

  /**
   * @param {string} text
   * @param {boolean} [bad] something went wrong.
   */
  add(text, bad = false) {
    this.#begin ??= performance.now();
    const second = ((performance.now() - this.#begin) / 1000).toFixed(1);
    const near = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 40;
    const line = html(
      'li',
      {},
      html('time', {}, `${second} s`),
      html('span', bad ? { class: 'bad' } : {}, text),
    );
    this.#list.append(line);
    while (this.#list.children.length > MOST) this.#list.firstElementChild?.remove();
    if (near) this.#list.scrollTop = this.#list.scrollHeight; // who reads further up stays there
  }
}
