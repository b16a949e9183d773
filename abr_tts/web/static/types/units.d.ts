/**
 * Samples of one 20 ms frame: 441 at 22 050 Hz, 960 at 48 000 Hz.
 *
 * @param {number} rate Hz.
 * @returns {number}
 * @throws {RangeError} a rate that does not divide evenly into frames.
 */
export function frameSamples(rate: number): number;
/**
 * Length at `outRate` of `samples` at `rate`: round(n·out/rate), half up.
 *
 * Whole seconds are converted apart from the rest, so that no product leaves the integers that
 * a float holds exactly.
 *
 * @param {number} samples
 * @param {number} rate Hz.
 * @param {number} outRate Hz.
 */
export function convertLength(samples: number, rate: number, outRate: number): number;
/**
 * Ticks of `samples` at `rate` Hz, rounded half up; exact on frame boundaries.
 *
 * @param {number} samples
 * @param {number} rate Hz.
 */
export function samplesToTicks(samples: number, rate: number): number;
/**
 * Samples at `rate` Hz of `ticks`, rounded half up; exact on frame boundaries.
 *
 * @param {number} ticks
 * @param {number} rate Hz.
 */
export function ticksToSamples(ticks: number, rate: number): number;
/**
 * Milliseconds of media in `ticks`.
 *
 * @param {number} ticks
 */
export function ticksToMs(ticks: number): number;
/**
 * @param {number} ms
 * @returns {number} the nearest tick.
 */
export function msToTicks(ms: number): number;
/**
 * The units of the house and the only conversions between them.
 *
 * Media time is counted in *ticks* of 1/48 000 s from an utterance's first sample; a *frame* is
 * 20 ms, 960 ticks, and every sample rate that is played divides it evenly. Wall time is in
 * seconds, on any monotonic clock.
 */
/** Ticks in one second of media: the clock of Opus (RFC 7845 section 4). */
export const TICKS_PER_SECOND: 48000;
/** Ticks in one frame: 20 ms. */
export const FRAME_TICKS: 960;
/** Frames in one second. */
export const FRAMES_PER_SECOND: 50;
