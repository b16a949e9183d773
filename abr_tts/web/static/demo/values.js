/** The plots as a table: what a screen reader, or somebody who wants numbers, reads instead of them. */

import { html } from './dom.js';
import { shown } from './scale.js';

/** @typedef {import('./history.js').History} History */

/** Milliseconds between two renewals: a table that changes faster cannot be read. */
const EVERY_MS = 1000;

export class Values {
  #details;
  #history;
  #at = -Infinity;

  /**
   * @param {HTMLDetailsElement} details holds the table; it is filled only while open.
   * @param {History} history
   */
  constructor(details, history) {
    this.#details = details;
    this.#history = history;
    details.addEventListener('toggle', () => this.draw(true));
  }

  /** @param {boolean} [atOnce] */
  draw(atOnce = false) {
    if (!this.#details.open || (!atOnce && performance.now() - this.#at < EVERY_MS)) return;
    this.#at = performance.now();
    const rows = this.#history
      .seconds()
      .map((point) =>
        html(
          'tr',
          {},
          html('th', { scope: 'row' }, shown(Math.floor(point.at))),
          ...[
            point.played ?? '–',
            point.sent ?? '–',
            shown(point.bank, 1),
            shown(point.rtt),
            shown(point.goodput),
          ].map((text) => html('td', {}, text)),
          html('td', {}, String(point.stalls)),
        ),
      );
    this.#details.querySelector('tbody')?.replaceChildren(...rows);
  }
}
