/**
 * One quantity over the last minute, as a line in an SVG: with its axis, a band where it should be,
 * and a reading under the pointer. The table of the page says the same without a picture.
 */

import { svg, write } from './dom.js';
import { axisTop, shown } from './scale.js';

/** @typedef {import('./history.js').History} History */
/** @typedef {import('./words.js').Words} Words */

/** Pixels left, right, above and below of what is plotted. */
export const MARGIN = { left: 58, right: 10, top: 8, bottom: 22 };

/** Seconds between two labels of the axis of time: the first that leaves room. */
const STEPS_S = [5, 10, 15, 30];
const WHOLE_S = 60;

/** Pixels that a label wants. */
const LABEL = 64;

/** Seconds without a value after which the line is broken. */
const GAP_S = 0.9;

/** `least`: the axis shows at least so much. @typedef {{ name: 'bank' | 'rtt' | 'goodput', unit: string, digits: number, least: number }} Kind */

export class Plot {
  /** Where it should be, lowest and highest. @type {[number, number] | null} */
  band = null;
  #svg;
  #reading;
  #title;
  #kind;
  #words;
  #history;
  /** Second under the pointer. @type {number | null} */
  #pointed = null;

  /**
   * @param {Element} figure has a `.plot`, a `.reading` and an `h3`.
   * @param {Kind} kind
   * @param {History} history
   * @param {Words} words
   */
  constructor(figure, kind, history, words) {
    this.#svg = /** @type {SVGSVGElement} */ (figure.querySelector('.plot'));
    this.#reading = /** @type {Element} */ (figure.querySelector('.reading'));
    this.#title = /** @type {Element} */ (figure.querySelector('h3'));
    this.#kind = kind;
    this.#history = history;
    this.#words = words;
    follow(this.#svg, history, (at) => {
      this.#pointed = at;
      this.draw();
    });
  }

  /** Draw what there is now. */
  draw() {
    const { width, height } = this.#svg.getBoundingClientRect();
    if (!width) return;
    const { points } = this.#history;
    const name = this.#kind.name;
    const values = points.flatMap((point) => point[name] ?? []);
    const most = Math.max(0, ...values);
    const top = axisTop(Math.max(most, this.band ? this.band[0] * 1.3 : 0), this.#kind.least);
    const x = across(width, this.#history.span);
    const y = (/** @type {number} */ value) =>
      height - MARGIN.bottom - (Math.min(value, top) / top) * (height - MARGIN.top - MARGIN.bottom);
    this.#svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.#svg.replaceChildren(
      ...this.#bandOf(width, top, y),
      ...this.#axes(width, height, top, y),
      ...this.#lines(x, y),
      ...this.#mark(x, y, height),
    );
    this.#tell(values);
  }

  /**
   * @param {number} width
   * @param {number} top
   * @param {(value: number) => number} y
   */
  #bandOf(width, top, y) {
    if (!this.band) return [];
    const [low, high] = this.band;
    const upper = y(Math.min(high, top));
    const size = { x: MARGIN.left, width: width - MARGIN.left - MARGIN.right };
    return [
      svg('rect', { class: 'band', ...size, y: upper, height: Math.max(0, y(low) - upper) }),
      svg('line', { class: 'edge', x1: size.x, x2: size.x + size.width, y1: y(low), y2: y(low) }),
    ];
  }

  /**
   * @param {number} width
   * @param {number} height
   * @param {number} top
   * @param {(value: number) => number} y
   */
  #axes(width, height, top, y) {
    const lines = [0, top / 2, top].flatMap((value) => [
      svg('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
      svg('text', { x: MARGIN.left - 8, y: y(value) + 4, 'text-anchor': 'end' }, String(value)),
    ]);
    return [...lines, ...seconds(width, height, this.#history.span)];
  }

  /**
   * @param {(at: number) => number} x
   * @param {(value: number) => number} y
   */
  #lines(x, y) {
    /** @type {[number, number][][]} */
    const runs = [];
    let last = -Infinity;
    for (const point of this.#history.points) {
      const value = point[this.#kind.name];
      if (value === null) continue;
      if (point.at - last > GAP_S) runs.push([]);
      last = point.at;
      runs[runs.length - 1].push([x(point.at), y(value)]);
    }
    const path = (/** @type {[number, number][]} */ run) =>
      run.map((pair) => pair.map((n) => n.toFixed(1)).join(',')).join('L');
    return runs.flatMap((run) => [
      svg('path', {
        class: 'area',
        d: `M${run[0][0]},${y(0)}L${path(run)}L${run[run.length - 1][0]},${y(0)}Z`,
      }),
      svg('path', { class: 'line', d: `M${path(run)}` }),
    ]);
  }

  /**
   * @param {(at: number) => number} x
   * @param {(value: number) => number} y
   * @param {number} height
   */
  #mark(x, y, height) {
    const point = this.#point();
    const value = point?.[this.#kind.name] ?? null;
    if (!point || value === null) return [];
    const dot = svg('circle', { class: 'dot', cx: x(point.at), cy: y(value), r: 5 });
    return this.#pointed === null ? [dot] : [cross(x(point.at), height), dot];
  }

  #point() {
    if (this.#pointed !== null) return this.#history.near(this.#pointed);
    return this.#history.points.at(-1);
  }

  /** @param {number[]} values */
  #tell(values) {
    const { digits, unit, name } = this.#kind;
    const point = this.#point();
    const text = (/** @type {number | null | undefined} */ value) => `${shown(value, digits)} ${unit}`;
    const when = point && this.#pointed !== null ? ` · ${point.at.toFixed(0)} s` : '';
    write(this.#reading, point ? text(point[name]) + when : '');
    const title = this.#title.textContent ?? '';
    const told = values.length
      ? this.#words.say('plot-label', {
          title,
          value: text(this.#history.points.at(-1)?.[name]),
          low: text(Math.min(...values)),
          high: text(Math.max(...values)),
        })
      : `${title}: ${this.#words.say('no-data')}`;
    this.#svg.setAttribute('aria-label', told);
  }
}

/**
 * Where a second stands, in pixels.
 *
 * @param {number} width
 * @param {[number, number]} span first and last second shown.
 * @returns {(at: number) => number}
 */
export function across(width, [from, to]) {
  const inner = width - MARGIN.left - MARGIN.right;
  return (at) => MARGIN.left + Math.max(0, (at - from) / (to - from)) * inner;
}

/**
 * The axis of time.
 *
 * @param {number} width
 * @param {number} height
 * @param {[number, number]} span
 */
export function seconds(width, height, span) {
  const [from, to] = span;
  const step = STEPS_S.find((step) => ((to - from) / step) * LABEL < width) ?? WHOLE_S;
  const x = across(width, span);
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step) - first + 1;
  return Array.from({ length: count }, (_, n) => {
    const at = (first + n) * step;
    return svg('text', { x: x(at), y: height - 5, 'text-anchor': 'middle' }, `${at} s`);
  });
}

/**
 * A line under the pointer.
 *
 * @param {number} x
 * @param {number} height
 */
export function cross(x, height) {
  return svg('line', { class: 'cross', x1: x, x2: x, y1: MARGIN.top, y2: height - MARGIN.bottom });
}

/**
 * Tell which second the pointer is at, null when it leaves.
 *
 * @param {SVGSVGElement} plot
 * @param {History} history
 * @param {(at: number | null) => void} tell
 */
export function follow(plot, history, tell) {
  plot.addEventListener('pointermove', (event) => {
    const { left, width } = plot.getBoundingClientRect();
    const share = (event.clientX - left - MARGIN.left) / (width - MARGIN.left - MARGIN.right);
    const [from, to] = history.span;
    tell(from + (to - from) * Math.min(1, Math.max(0, share)));
  });
  for (const name of ['pointerleave', 'pointercancel']) plot.addEventListener(name, () => tell(null));
}
