/**
 * An integer in bounds, a multiple of `step`.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} [step]
 * @returns {Check}
 */
export function integer(low: number, high: number, step?: number): Check;
/**
 * An integer or a float in bounds, as a number. NaN is in no range.
 *
 * @param {number} low
 * @param {number} high
 * @returns {Check}
 */
export function number(low: number, high: number): Check;
/**
 * A string of `low` to `high` code points, no half of a pair among them.
 *
 * @param {number} low
 * @param {number} high
 * @returns {Check}
 */
export function string(low: number, high: number): Check;
export function speech(value: unknown): unknown;
export function boolean(value: unknown): unknown;
export function uuid(value: unknown): unknown;
export function streamRef(value: unknown): unknown;
/**
 * One of these strings.
 *
 * @param {...string} names
 * @returns {Check}
 */
export function oneOf(...names: string[]): Check;
/**
 * An array of `low` to `high` values.
 *
 * @param {Check} item
 * @param {number} low
 * @param {number} high
 * @returns {Check}
 */
export function array(item: Check, low: number, high: number): Check;
/**
 * An array of exactly two values.
 *
 * @param {Check} first
 * @param {Check} second
 * @returns {Check}
 */
export function pair(first: Check, second: Check): Check;
/**
 * A map of at most `most` names of 1 to 64 characters.
 *
 * @param {Check} item
 * @param {number} most
 * @returns {Check}
 */
export function mapping(item: Check, most: number): Check;
/**
 * A value of no fixed form, as in `error.detail`: what JSON can say, nested at most `depth` deep.
 * Six here and the message and `detail` around it are the eight that a decoder allows.
 *
 * @param {unknown} value
 * @param {number} [depth]
 * @returns {unknown}
 */
export function free(value: unknown, depth?: number): unknown;
/** @typedef {(value: unknown) => unknown} Check */
/** The largest integer on the wire: the last one that a float counts exactly. */
export const SAFE: number;
/** A value that is not what it must be; `message` begins with "must". */
export class Unfit extends Error {
}
export type Check = (value: unknown) => unknown;
