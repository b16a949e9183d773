/** The least of the wire (SPEC.md, audio_start). */
export const LEAST_RATE: 8000;
export class ClipEncoder {
    /**
     * @param {number} rate Hz of the samples.
     * @throws {RangeError} it has no whole frames of 20 ms, or is below 8000.
     */
    constructor(rate: number);
    /** What it makes, for `audio_start`. */
    form: {
        codec: string;
        sample_rate: number;
        channels: number;
    };
    /**
     * The next samples, of any number.
     *
     * @param {Float32Array} samples mono, full scale at ±1.
     * @returns {Uint8Array[]} the packets that they complete.
     */
    push(samples: Float32Array): Uint8Array[];
    /**
     * The rest, filled up with silence.
     *
     * @returns {Uint8Array[]}
     */
    finish(): Uint8Array[];
    #private;
}
