/**
 * Make a decoder module ready.
 *
 * @param {OpusSource} source
 * @returns {Promise<Opus>}
 * @throws {OpusError} `bad_module`: not an `opus.wasm` of this version, or the page's policy forbids
 *   WebAssembly. What the function in `source` throws is passed on.
 */
export function loadOpus(source: OpusSource): Promise<Opus>;
/**
 * What `loadOpus` takes: the bytes of `opus.wasm`; them compiled; an instance of it (where only the
 * platform can make one, as `WXWebAssembly.instantiate` does from a path); or a function that gives
 * one of these, or a promise of one.
 *
 * @typedef {ArrayBuffer | ArrayBufferView | WebAssembly.Module | { exports: object }} OpusModule
 * @typedef {OpusModule | (() => OpusModule | PromiseLike<OpusModule>)} OpusSource
 */
/**
 * The functions of `decoders.c`. A negative result is an error number of opus_defines.h.
 *
 * @typedef {{
 *   memory: { buffer: ArrayBuffer },
 *   abi(): number, decoders(): number, input(): number, input_bytes(): number, output(): number,
 *   open(): number, close(handle: number): number, reset(handle: number): number,
 *   decode(handle: number, size: number): number,
 *   conceal(handle: number, frames: number): number,
 *   recover(handle: number, size: number): number,
 * }} OpusExports
 */
/**
 * @typedef {'bad_packet' | 'too_many_decoders' | 'closed' | 'bad_module'} OpusFault
 */
/** Opus could not do what was asked; the module and its other decoders go on. */
export class OpusError extends Error {
    /**
     * @param {string} message one sentence for a person.
     * @param {OpusFault} fault what is wrong, for programs.
     * @param {number} number libopus' error number (opus_defines.h); 0 where it was not asked.
     */
    constructor(message: string, fault: OpusFault, number?: number);
    fault: OpusFault;
    number: number;
}
/** The module at work: it makes decoders, as many as `limit` at once. Get one from `loadOpus`. */
export class Opus {
    /** @param {OpusExports} exports */
    constructor(exports: OpusExports);
    /** Decoders that may be open at once. */
    limit: number;
    /**
     * A fresh decoder of any mode of Opus. Free it when its track is done.
     *
     * @returns {OpusDecoder}
     * @throws {OpusError} `too_many_decoders`: `limit` are open. Freeing one helps.
     */
    decoder(): OpusDecoder;
    #private;
}
/** One track's decoder, mono. Packets go in, in order; each decoder has its own state. */
export class OpusDecoder {
    /**
     * @param {Calls} calls
     * @param {number} handle
     */
    constructor(calls: Calls, handle: number);
    /**
     * Decode one packet of 2.5 to 120 ms.
     *
     * @param {Uint8Array} packet
     * @returns {Float32Array} 960 samples for each 20 ms, full scale at ±1, which they may exceed; the
     *   caller's own copy.
     * @throws {OpusError} `bad_packet`: the decoder can go on with the next one. `closed`: it was freed.
     */
    decode(packet: Uint8Array): Float32Array;
    /**
     * What the decoder makes of lost frames.
     *
     * @param {number} [frames] of 20 ms, 1 to 6.
     * @returns {Float32Array} 960 samples for each.
     * @throws {RangeError} another number of frames.
     * @throws {OpusError} `closed`.
     */
    conceal(frames?: number): Float32Array;
    /**
     * The lost 20 ms frame before `packet`, from the copy that `packet` carries (in-band FEC, RFC 6716
     * section 2.1.7); concealed, where it carries none. Decode `packet` itself afterwards.
     *
     * @param {Uint8Array} packet
     * @returns {Float32Array} 960 samples.
     * @throws {OpusError} as `decode`.
     */
    recover(packet: Uint8Array): Float32Array;
    /**
     * Forget everything heard: as fresh as a new decoder, in a few microseconds.
     *
     * @throws {OpusError} `closed`.
     */
    reset(): void;
    /** Give its memory back. Freeing twice is no fault. */
    free(): void;
    #private;
}
/**
 * What `loadOpus` takes: the bytes of `opus.wasm`; them compiled; an instance of it (where only the
 * platform can make one, as `WXWebAssembly.instantiate` does from a path); or a function that gives
 * one of these, or a promise of one.
 */
export type OpusModule = ArrayBuffer | ArrayBufferView | WebAssembly.Module | {
    exports: object;
};
/**
 * What `loadOpus` takes: the bytes of `opus.wasm`; them compiled; an instance of it (where only the
 * platform can make one, as `WXWebAssembly.instantiate` does from a path); or a function that gives
 * one of these, or a promise of one.
 */
export type OpusSource = OpusModule | (() => OpusModule | PromiseLike<OpusModule>);
/**
 * The functions of `decoders.c`. A negative result is an error number of opus_defines.h.
 */
export type OpusExports = {
    memory: {
        buffer: ArrayBuffer;
    };
    abi(): number;
    decoders(): number;
    input(): number;
    input_bytes(): number;
    output(): number;
    open(): number;
    close(handle: number): number;
    reset(handle: number): number;
    decode(handle: number, size: number): number;
    conceal(handle: number, frames: number): number;
    recover(handle: number, size: number): number;
};
export type OpusFault = "bad_packet" | "too_many_decoders" | "closed" | "bad_module";
/** The one place that touches the module's memory. */
declare class Calls {
    /** @param {OpusExports} exports */
    constructor(exports: OpusExports);
    exports: OpusExports;
    /**
     * Puts a packet where the module reads it.
     *
     * @param {Uint8Array} packet
     * @returns {number} its bytes.
     * @throws {OpusError} `bad_packet`: empty, or longer than any that Opus makes.
     */
    put(packet: Uint8Array): number;
    /**
     * A copy of the samples that a call has made.
     *
     * @param {number} result of that call: samples, or an error number.
     * @returns {Float32Array}
     * @throws {OpusError} `bad_packet`.
     */
    samples(result: number): Float32Array;
    #private;
}
export {};
