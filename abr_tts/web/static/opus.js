/**
 * Opus packets to samples at 48 kHz, by libopus in WebAssembly: the same samples in every browser.
 *
 * Knows packets and decoders; it must not know tracks, pts or where the module comes from: the
 * caller hands over `opus.wasm`, or a function that gets it. The module imports nothing, its 1 MiB
 * of memory never grows, and one `Opus` serves all tracks of a page. `tools/opus_wasm` builds it.
 *
 *     const opus = await loadOpus(() => fetch('opus.wasm').then((r) => r.arrayBuffer()));
 *     const decoder = opus.decoder();
 *     const pcm = decoder.decode(packet);
 */

/** Samples of one 20 ms frame at 48 kHz. */
const FRAME = 960;

/** Frames in 120 ms, the longest legal packet (RFC 6716 section 3.2.5). */
const LONGEST = 6;

/** Version of the module's functions that this file calls; `decoders.c` says its own. */
const ABI = 1;

/** OPUS_INVALID_PACKET of opus_defines.h. */
const INVALID_PACKET = -4;

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
  constructor(message, fault, number = 0) {
    super(message);
    this.name = 'OpusError';
    this.fault = fault;
    this.number = number;
  }
}

/**
 * Make a decoder module ready.
 *
 * @param {OpusSource} source
 * @returns {Promise<Opus>}
 * @throws {OpusError} `bad_module`: not an `opus.wasm` of this version, or the page's policy forbids
 *   WebAssembly. What the function in `source` throws is passed on.
 */
export async function loadOpus(source) {
  const given = await (typeof source === 'function' ? source() : source);
  return new Opus(checked(await instanceOf(given)));
}

/**
 * @param {OpusModule} given
 * @returns {Promise<{ exports: object }>}
 */
async function instanceOf(given) {
  if (given && typeof given === 'object' && 'exports' in given) return given;
  try {
    const module = isBytes(given) ? await WebAssembly.compile(/** @type {BufferSource} */ (given)) : given;
    return await WebAssembly.instantiate(/** @type {WebAssembly.Module} */ (module), {});
  } catch (error) {
    throw new OpusError(`the Opus module cannot be used: ${error}`, 'bad_module');
  }
}

/**
 * An ArrayBuffer, also of another frame, or a view of one.
 *
 * @param {unknown} given
 */
function isBytes(given) {
  return ArrayBuffer.isView(given) || Object.prototype.toString.call(given) === '[object ArrayBuffer]';
}

/**
 * @param {{ exports: object }} instance
 * @returns {OpusExports}
 */
function checked(instance) {
  const exports = /** @type {Partial<OpusExports> | undefined} */ (instance.exports);
  const abi = exports && typeof exports.abi === 'function' ? exports.abi() : undefined;
  if (abi !== ABI) {
    throw new OpusError('opus.wasm and opus.js are not of the same version', 'bad_module');
  }
  return /** @type {OpusExports} */ (exports);
}

/** The one place that touches the module's memory. */
class Calls {
  #input;
  #output;

  /** @param {OpusExports} exports */
  constructor(exports) {
    this.exports = exports;
    this.#input = new Uint8Array(exports.memory.buffer, exports.input(), exports.input_bytes());
    this.#output = new Float32Array(exports.memory.buffer, exports.output(), LONGEST * FRAME);
  }

  /**
   * Puts a packet where the module reads it.
   *
   * @param {Uint8Array} packet
   * @returns {number} its bytes.
   * @throws {OpusError} `bad_packet`: empty, or longer than any that Opus makes.
   */
  put(packet) {
    if (packet.length === 0) {
      throw new OpusError('an empty packet is not an Opus packet', 'bad_packet', INVALID_PACKET);
    }
    if (packet.length > this.#input.length) {
      const message = `an Opus packet has at most ${this.#input.length} bytes, not ${packet.length}`;
      throw new OpusError(message, 'bad_packet', INVALID_PACKET);
    }
    this.#input.set(packet);
    return packet.length;
  }

  /**
   * A copy of the samples that a call has made.
   *
   * @param {number} result of that call: samples, or an error number.
   * @returns {Float32Array}
   * @throws {OpusError} `bad_packet`.
   */
  samples(result) {
    if (result < 0) throw new OpusError('this is not an Opus packet', 'bad_packet', result);
    return this.#output.slice(0, result);
  }
}

/** The module at work: it makes decoders, as many as `limit` at once. Get one from `loadOpus`. */
export class Opus {
  #calls;

  /** @param {OpusExports} exports */
  constructor(exports) {
    this.#calls = new Calls(exports);
    /** Decoders that may be open at once. */
    this.limit = exports.decoders();
  }

  /**
   * A fresh decoder of any mode of Opus. Free it when its track is done.
   *
   * @returns {OpusDecoder}
   * @throws {OpusError} `too_many_decoders`: `limit` are open. Freeing one helps.
   */
  decoder() {
    const handle = this.#calls.exports.open();
    if (handle < 0) {
      const message = `${this.limit} Opus decoders are open, and there is memory for no more`;
      throw new OpusError(message, 'too_many_decoders', handle);
    }
    return new OpusDecoder(this.#calls, handle);
  }
}

/** One track's decoder, mono. Packets go in, in order; each decoder has its own state. */
export class OpusDecoder {
  #calls;
  #handle;

  /**
   * @param {Calls} calls
   * @param {number} handle
   */
  constructor(calls, handle) {
    this.#calls = calls;
    this.#handle = handle;
  }

  /**
   * Decode one packet of 2.5 to 120 ms.
   *
   * @param {Uint8Array} packet
   * @returns {Float32Array} 960 samples for each 20 ms, full scale at ±1, which they may exceed; the
   *   caller's own copy.
   * @throws {OpusError} `bad_packet`: the decoder can go on with the next one. `closed`: it was freed.
   */
  decode(packet) {
    const handle = this.#open();
    return this.#calls.samples(this.#calls.exports.decode(handle, this.#calls.put(packet)));
  }

  /**
   * What the decoder makes of lost frames.
   *
   * @param {number} [frames] of 20 ms, 1 to 6.
   * @returns {Float32Array} 960 samples for each.
   * @throws {RangeError} another number of frames.
   * @throws {OpusError} `closed`.
   */
  conceal(frames = 1) {
    if (!(Number.isInteger(frames) && frames >= 1 && frames <= LONGEST)) {
      throw new RangeError(`can conceal 1 to ${LONGEST} frames, not ${frames}`);
    }
    return this.#calls.samples(this.#calls.exports.conceal(this.#open(), frames));
  }

  /**
   * The lost 20 ms frame before `packet`, from the copy that `packet` carries (in-band FEC, RFC 6716
   * section 2.1.7); concealed, where it carries none. Decode `packet` itself afterwards.
   *
   * @param {Uint8Array} packet
   * @returns {Float32Array} 960 samples.
   * @throws {OpusError} as `decode`.
   */
  recover(packet) {
    const handle = this.#open();
    return this.#calls.samples(this.#calls.exports.recover(handle, this.#calls.put(packet)));
  }

  /**
   * Forget everything heard: as fresh as a new decoder, in a few microseconds.
   *
   * @throws {OpusError} `closed`.
   */
  reset() {
    this.#calls.exports.reset(this.#open());
  }

  /** Give its memory back. Freeing twice is no fault. */
  free() {
    if (this.#handle >= 0) this.#calls.exports.close(this.#handle);
    this.#handle = -1;
  }

  /** @returns {number} the handle, while there is one. */
  #open() {
    if (this.#handle < 0) throw new OpusError('this Opus decoder was freed', 'closed');
    return this.#handle;
  }
}
