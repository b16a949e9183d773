/** Numbers on a page: where they stand on an axis or a slider, and how they are written. Pure. */

/** The slider's highest position: its steps are finer than two digits of a speed. */
export const TOP = 1000;

/** Kilobits a second at the low end of the speed slider's middle part: less than any rung needs. */
export const LEAST_KBPS = 8;

/** At its high end: more than any rung needs. */
export const GREAT_KBPS = 5_000;

/**
 * The top of an axis that shows `most`: 1, 2 or 5 times a power of ten.
 *
 * @param {number} most 0 or more.
 * @param {number} least the axis shows at least so much.
 */
export function axisTop(most, least) {
  const wanted = Math.max(most, least);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((times) => times * power).find((top) => top >= wanted) ?? 10 * power;
}

/**
 * The link's speed at a position of the slider: dead at 0, no limit at the top, by ratio between.
 *
 * @param {number} position 0 to `TOP`.
 * @returns {number} kbit/s; Infinity for no limit.
 */
export function sliderKbps(position) {
  if (position <= 0) return 0;
  if (position >= TOP) return Infinity;
  const kbps = LEAST_KBPS * (GREAT_KBPS / LEAST_KBPS) ** ((position - 1) / (TOP - 2));
  return Number(kbps.toPrecision(2));
}

/**
 * The position that comes nearest to a speed.
 *
 * @param {number} kbps
 */
export function sliderPosition(kbps) {
  if (kbps <= 0) return 0;
  if (!Number.isFinite(kbps)) return TOP;
  const share = Math.log(kbps / LEAST_KBPS) / Math.log(GREAT_KBPS / LEAST_KBPS);
  return Math.min(TOP - 1, Math.max(1, Math.round(1 + (TOP - 2) * share)));
}

/** @param {number} kbps @returns {string} with its unit. */
export function rateText(kbps) {
  return kbps >= 1000 ? `${Number((kbps / 1000).toPrecision(2))} Mbit/s` : `${Math.round(kbps)} kbit/s`;
}

/**
 * A measured value for people; a dash for one that is not known.
 *
 * @param {number | null | undefined} value
 * @param {number} [digits] after the point.
 */
export function shown(value, digits = 0) {
  return value === null || value === undefined || !Number.isFinite(value) || value < 0
    ? '–'
    : value.toFixed(digits);
}
