/**
 * One track on the listening side: its packets in, any of its next frames out as samples.
 *
 * Packets are decoded in order, each once and as late as possible, so that a decoder's state is
 * always that of its encoder. It must not know ranks, other tracks or which frames are played.
 */

import { PlayoutError } from './errors.js';
import { decodePcm16, decodeUlaw } from './pcm.js';
import { Resampler } from './resample.js';
import { FRAME_TICKS, TICKS_PER_SECOND, frameSamples } from './units.js';

/**
 * What is needed of an Opus decoder, 48 kHz, mono. `decode` may give a view that its next call
 * overwrites, and throws where the packet is none.
 *
 * @typedef {{ decode(packet: Uint8Array): Float32Array, free(): void }} OpusDecoder
 */
/** What makes fresh Opus decoders; it throws when it has none left. @typedef {{ decoder(): OpusDecoder }} Opus */
/** @typedef {import('./messages.js').Track} Track */

/**
 * Stateless codecs by their name on the wire.
 *
 * @type {Record<string, (packet: Uint8Array) => Float32Array>}
 */
const STATELESS = { pcm16: decodePcm16, ulaw: decodeUlaw };

export class TrackDecoder {
  /** Packets that could not be decoded, or were not as long as they should be. */
  badPackets = 0;
  /** @type {OpusDecoder | null} */
  #opus = null;
  #decode;
  /** @type {Resampler | null} */
  #resampler;
  #size;
  #duration;
  #silence;
  /** @type {Uint8Array[]} */
  #packets = [];
  /** @type {Float32Array[]} */
  #frames = [];
  /** The pts of the oldest frame kept. */
  #first;

  /**
   * @param {Track} track how the track is coded and where it starts.
   * @param {Opus | null} opus only Opus tracks need it.
   * @param {number} outRate Hz of the frames that come out.
   * @throws {PlayoutError} `bad_format`: a codec, rate or channel count that cannot be played;
   *   `too_many_tracks`: there is no Opus decoder left.
   */
  constructor(track, opus, outRate) {
    const rate = track.codec === 'opus' ? TICKS_PER_SECOND : track.sample_rate;
    this.#decode = this.#open(track, opus);
    this.#size = frameSamples(rate);
    this.#resampler = rate === outRate ? null : new Resampler(rate, outRate);
    this.#duration = track.duration;
    this.#silence = new Float32Array(this.#size);
    this.#first = track.start - track.preroll * FRAME_TICKS;
  }

  /**
   * @param {Track} track
   * @param {Opus | null} opus
   * @returns {(packet: Uint8Array) => Float32Array}
   */
  #open({ track, codec, sample_rate, channels }, opus) {
    const stateless = Object.prototype.hasOwnProperty.call(STATELESS, codec) ? STATELESS[codec] : null;
    if (channels === 1 && codec === 'opus' && opus) {
      const decoder = makeDecoder(opus);
      this.#opus = decoder;
      return (packet) => decoder.decode(packet).slice();
    }
    if (channels === 1 && stateless && sample_rate > 0 && sample_rate % 50 === 0) return stateless;
    throw new PlayoutError(
      `track ${track}, ${codec} at ${sample_rate} Hz, ${channels} channels, cannot be played`,
      'bad_format',
    );
  }

  /**
   * The track's next packets, contiguous with those before.
   *
   * @param {Uint8Array[]} packets
   */
  push(packets) {
    this.#packets.push(...packets);
  }

  /**
   * Decode what is here up to the frame at `pts`; forget frames more than two before it.
   *
   * @param {number} pts
   */
  advance(pts) {
    while (this.#packets.length && this.#first + this.#frames.length * FRAME_TICKS <= pts) {
      const pcm = this.#decodeOne(/** @type {Uint8Array} */ (this.#packets.shift()));
      for (let k = 0; k < this.#duration; k++)
        this.#frames.push(pcm.subarray(k * this.#size, (k + 1) * this.#size));
    }
    while (this.#frames.length && this.#first < pts - 2 * FRAME_TICKS) {
      this.#frames.shift();
      this.#first += FRAME_TICKS;
    }
  }

  /**
   * The frame at `pts` at the output rate; calls must ask for growing pts.
   *
   * With `last`, silence follows it, whatever was sent, as it precedes pts 0. Elsewhere the
   * frame's mirror image stands for a neighbour that is not here: silence would ring where two
   * tracks fade.
   *
   * @param {number} pts
   * @param {boolean} last
   * @returns {Float32Array} not to be changed.
   * @throws {Error} its packet is not here, or is gone.
   */
  frame(pts, last) {
    this.advance(pts + FRAME_TICKS);
    const here = this.#decoded(pts);
    if (!here) throw new Error(`no frame at pts ${pts}`);
    if (!this.#resampler) return here;
    const before = this.#decoded(pts - FRAME_TICKS) ?? (pts ? here.slice().reverse() : this.#silence);
    const after = last ? this.#silence : (this.#decoded(pts + FRAME_TICKS) ?? here.slice().reverse());
    return this.#resampler.frame(before, here, after);
  }

  /** Free the decoder. */
  close() {
    this.#opus?.free();
    this.#opus = null;
  }

  /** Packets that are not decoded yet. */
  get heldPackets() {
    return this.#packets.length;
  }

  /**
   * @param {number} pts
   * @returns {Float32Array | undefined}
   */
  #decoded(pts) {
    return this.#frames[(pts - this.#first) / FRAME_TICKS];
  }

  /**
   * Samples of one packet, always as many as they should be: silence stands for what is missing.
   *
   * @param {Uint8Array} packet
   */
  #decodeOne(packet) {
    const size = this.#duration * this.#size;
    /** @type {Float32Array} */
    let pcm = this.#silence.subarray(0, 0);
    try {
      pcm = this.#decode(packet);
    } catch {
      // Counted below: its length is wrong.
    }
    if (pcm.length === size) return pcm;
    this.badPackets += 1;
    const fitted = new Float32Array(size);
    fitted.set(pcm.subarray(0, size));
    return fitted;
  }
}

/**
 * @param {Opus} opus
 * @throws {PlayoutError} `too_many_tracks`
 */
function makeDecoder(opus) {
  try {
    return opus.decoder();
  } catch (error) {
    throw new PlayoutError(`there is no Opus decoder left: ${error}`, 'too_many_tracks');
  }
}
