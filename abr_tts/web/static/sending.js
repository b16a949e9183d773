/**
 * What is said to the server for one clip: the request, its sound in packets as fast as both sides bear,
 * and all of it again after a connection was lost in between.
 *
 * It stands where `Asking` stands for a text. Gives messages; it must not know how they are sent.
 */

import { ClipEncoder } from './clip.js';
import { Pace } from './pace.js';
import { FRAME_TICKS } from './units.js';

/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** What is asked for beside the sound. @typedef {Omit<import('./messages.js').AudioStart, 'type' | 'stream_id' | 'codec' | 'sample_rate' | 'channels'>} Wish */

/** Bytes that may wait on this side before a clip is held back (SPEC.md, Clips). */
export const UNSENT_BYTES = 65_536;

/** Seconds after which a link that had no room is looked at again: a browser tells nobody. */
const LOOK_S = 0.05;

/** Packets in one message: 200 ms. */
const PACKETS = 10;

/** Packets that are held at most, a minute: a server takes half of it, and says so itself (`audio_too_long`). */
const PACKETS_MOST = 3_000;

export class Sending {
  /** It was asked for on the connection that is open now. */
  asked = false;
  /** Its number on that connection, once it has started. @type {number | null} */
  handle = null;
  /** Its name on the wire; a new one when it must be asked for anew. */
  streamId;
  /** There is no text in it, and nothing of it is asked of another server. */
  text = '';
  said = 0;
  /** What ends it at the next connection: it ends by itself. @type {ClientMessage[]} */
  unwanted = [];
  /** The server was told that this is all. */
  complete = false;
  #token = '';
  #request;
  #encoder;
  #pace = new Pace();
  /** @type {Uint8Array[]} */
  #packets = [];
  #next = 0;
  #ended = false;

  /**
   * @param {string} id a UUID.
   * @param {Wish} request
   * @param {number} rate Hz of the samples.
   * @throws {RangeError} it has no whole frames of 20 ms.
   */
  constructor(id, request, rate) {
    this.streamId = id;
    this.#request = request;
    this.#encoder = new ClipEncoder(rate);
  }

  /** How messages name the stream. */
  get stream() {
    return this.handle ?? this.streamId;
  }

  /**
   * The messages that ask for it; for the rest of the answer, where all was sent.
   *
   * @param {[number, number][]} wanted track and pts of the next packet of each live track.
   * @param {number} played ticks heard.
   * @returns {ClientMessage[]}
   */
  ask(wanted, played) {
    this.asked = true;
    const { streamId: stream_id } = this;
    if (this.complete) return [{ type: 'attach', stream_id, token: this.#token, tracks: wanted, played }];
    return [{ type: 'audio_start', stream_id, ...this.#encoder.form, ...this.#request }];
  }

  /**
   * More sound, or its end.
   *
   * @param {Float32Array | null} samples null: it ends.
   */
  write(samples) {
    if (this.#ended) return;
    this.#ended = samples === null;
    const packets = samples === null ? this.#encoder.finish() : this.#encoder.push(samples);
    if (this.#packets.length < PACKETS_MOST) this.#packets.push(...packets);
  }

  /**
   * The server takes it.
   *
   * @param {import('./messages.js').StreamStarted} message
   * @returns {ClientMessage[]}
   */
  started({ stream, token }) {
    this.handle = stream;
    this.#token = token;
    return [];
  }

  /**
   * The server names a rate.
   *
   * @param {number} kbps
   * @param {number} now seconds, as everywhere below.
   */
  flow(kbps, now) {
    this.#pace.set(kbps, now);
  }

  /** A server that stops has not begun with it: the whole is to be asked of another. */
  elsewhere() {
    return true;
  }

  /**
   * The connection is lost: what was not sent to its end is sent anew.
   *
   * @param {() => string} again gives a new name.
   */
  lost(again) {
    this.asked = false;
    this.handle = null;
    if (this.complete) return;
    this.streamId = again();
    this.#next = 0;
    this.#pace = new Pace();
  }

  /**
   * The next message, if one may go; it counts as sent.
   *
   * @param {number} now
   * @param {number} unsent bytes that wait on this side.
   * @returns {ClientMessage | null}
   */
  poll(now, unsent) {
    if (this.handle === null || this.complete || this.wait(now, unsent) !== 0) return null;
    const packets = this.#due;
    if (!packets.length) {
      this.complete = true;
      return { type: 'text_end', stream: this.handle };
    }
    const pts = this.#next * FRAME_TICKS;
    this.#next += packets.length;
    this.#pace.sent(sizeOf(packets), now);
    return { type: 'uplink_audio', stream: this.handle, pts, packets };
  }

  /**
   * Seconds until a message may go; infinite while there is none, or none may.
   *
   * @param {number} now
   * @param {number} unsent
   */
  wait(now, unsent) {
    const packets = this.#due;
    if (this.handle === null || this.complete || !(packets.length || this.#ended)) return Infinity;
    if (!packets.length) return 0;
    const size = sizeOf(packets);
    const crowded = unsent > 0 && unsent + size > UNSENT_BYTES;
    return Math.max(crowded ? LOOK_S : 0, this.#pace.wait(size, now));
  }

  get #due() {
    return this.#packets.slice(this.#next, this.#next + PACKETS);
  }
}

/**
 * Bytes of a message at most.
 *
 * @param {Uint8Array[]} packets
 */
function sizeOf(packets) {
  return packets.reduce((size, packet) => size + packet.length + 3, 12);
}
