/** One pair of rates, made once a track. */
export class Resampler {
    /**
     * @param {number} inRate Hz.
     * @param {number} outRate Hz.
     * @throws {RangeError} a rate that does not divide into 20 ms frames.
     */
    constructor(inRate: number, outRate: number);
    /**
     * One frame at the output rate, from itself and its neighbours; silence where there is none.
     *
     * @param {Float32Array} before as long as the frame, as is `after`.
     * @param {Float32Array} frame 20 ms at the input rate.
     * @param {Float32Array} after
     * @returns {Float32Array} 20 ms at the output rate.
     */
    frame(before: Float32Array, frame: Float32Array, after: Float32Array): Float32Array;
    #private;
}
/**
 * Weights of each phase one after another, `taps` each; output k reads the input from
 * floor(k·step/phases) on.
 */
export type Filter = {
    phases: number;
    step: number;
    taps: number;
    weights: Float32Array;
};
