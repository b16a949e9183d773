/**
 * sin(πx), to a few units of the last place.
 *
 * @param {number} x
 */
export function sinPi(x: number): number;
