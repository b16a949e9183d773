/**
 * The strip of rungs: a row for each, on it when it was played (thick) and when it was sent (thin),
 * the switches as triangles, stalls as a wash over all rows.
 */

import { svg, write } from './dom.js';
import { MARGIN, across, cross, follow, seconds } from './plot.js';

/** @typedef {import('./history.js').History} History */
/** @typedef {import('./words.js').Words} Words */

/** Pixels of a row. */
const ROW = 20;

export class Strip {
  #svg;
  #reading;
  #history;
  #words;
  /** @type {number | null} */
  #pointed = null;

  /**
   * @param {Element} figure has a `.plot` and a `.reading`.
   * @param {History} history
   * @param {Words} words
   */
  constructor(figure, history, words) {
    this.#svg = /** @type {SVGSVGElement} */ (figure.querySelector('.plot'));
    this.#reading = /** @type {Element} */ (figure.querySelector('.reading'));
    this.#history = history;
    this.#words = words;
    follow(this.#svg, history, (at) => {
      this.#pointed = at;
      this.draw();
    });
  }

  /** Draw what there is now. */
  draw() {
    const rows = this.#history.rows;
    const height = MARGIN.top + Math.max(3, rows.length) * ROW + MARGIN.bottom;
    this.#svg.style.height = `${height}px`;
    const { width } = this.#svg.getBoundingClientRect();
    if (!width) return;
    const x = across(width, this.#history.span);
    const y = (/** @type {string} */ rung) => MARGIN.top + rows.indexOf(rung) * ROW;
    this.#svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.#svg.replaceChildren(
      ...rows.flatMap((rung) => row(rung, y(rung), width)),
      ...this.#history.runs('stalled').map((run) => wash(x(run.from), x(run.to), height)),
      ...this.#history
        .runs('played')
        .map((run) => bar('played', x(run.from), x(run.to), y(String(run.value)) + 3, 8)),
      ...this.#history
        .runs('sent')
        .map((run) => bar('sent', x(run.from), x(run.to), y(String(run.value)) + 14, 3)),
      ...this.#history.switches.map((change) => this.#triangle(change, x(change.at), y(change.to))),
      ...seconds(width, height, this.#history.span),
      ...(this.#pointed === null ? [] : [cross(x(this.#pointed), height)]),
    );
    this.#tell();
  }

  /**
   * @param {import('./history.js').Switch} change
   * @param {number} x
   * @param {number} y
   */
  #triangle(change, x, y) {
    const top = y + 11;
    return svg(
      'path',
      { class: 'switch', d: `M${x.toFixed(1)} ${top}l5 8h-10z` },
      svg('title', {}, `${change.from} → ${change.to}: ${change.reason}`),
    );
  }

  #tell() {
    const { points, switches } = this.#history;
    const last = points.at(-1);
    const point = this.#pointed === null ? last : this.#history.near(this.#pointed);
    const played = this.#words.say('played');
    const sent = this.#words.say('sent');
    write(this.#reading, point ? `${played} ${point.played ?? '–'} · ${sent} ${point.sent ?? '–'}` : '');
    const values = { played: last?.played ?? '–', sent: last?.sent ?? '–', count: switches.length };
    const told = last ? this.#words.say('strip-label', values) : this.#words.say('no-data');
    this.#svg.setAttribute('aria-label', told);
  }
}

/**
 * @param {string} rung
 * @param {number} y
 * @param {number} width
 */
function row(rung, y, width) {
  const line = y + ROW - 0.5;
  return [
    svg('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: line, y2: line }),
    svg('text', { x: MARGIN.left - 8, y: y + 13, 'text-anchor': 'end' }, rung),
  ];
}

/**
 * @param {string} kind
 * @param {number} from
 * @param {number} to
 * @param {number} y
 * @param {number} height
 */
function bar(kind, from, to, y, height) {
  const x = Math.max(from, MARGIN.left);
  return svg('rect', { class: kind, x, y, width: Math.max(2, to - x), height, rx: Math.min(3, height / 2) });
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} height
 */
function wash(from, to, height) {
  const size = { y: MARGIN.top, height: height - MARGIN.top - MARGIN.bottom };
  return svg('rect', { class: 'stall', x: from, width: Math.max(2, to - from), ...size });
}
