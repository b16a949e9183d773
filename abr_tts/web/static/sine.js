/**
 * A sine of its own, by additions and multiplications alone.
 *
 * `Math.sin` and `**` may differ in their last bits from engine to engine; fades and filters made with this one
 * are the same everywhere, so that every browser and Node play the same bits.
 */

/** 1 ÷ ((2k+2)·(2k+3)): the steps of the series, whose last term is below 10^-18 for a quarter turn. */
const STEPS = Float64Array.from({ length: 11 }, (_, k) => 1 / ((2 * k + 2) * (2 * k + 3)));

/**
 * sin(πx), to a few units of the last place.
 *
 * @param {number} x
 */
export function sinPi(x) {
  let turn = x - 2 * Math.floor(x / 2);
  const sign = turn >= 1 ? -1 : 1;
  turn = turn >= 1 ? turn - 1 : turn;
  const y = Math.PI * (turn > 0.5 ? 1 - turn : turn);
  let sum = 1;
  for (let k = STEPS.length - 1; k >= 0; k--) sum = 1 - sum * y * y * STEPS[k];
  return sign * y * sum;
}
