/**
 * What is said to the server for one speech: the request, its text in pieces, and both again after a
 * connection was lost.
 *
 * It keeps the whole text, since a server may have to be told a part of it twice. Gives messages; it must
 * not know how they are sent, or what comes back but `stream_started`.
 */

import { AbrError } from './errors.js';

/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** @typedef {Omit<import('./messages.js').StreamStart, 'type' | 'stream_id'>} Request */

/** Longest text in one message, as the Python client: far below 1 MiB, so that the server's own limit answers. */
const PIECE_CHARS = 50_000;

export class Asking {
  /** It was asked for on the connection that is open now. */
  asked = false;
  /** Its number on that connection, once it has started. @type {number | null} */
  handle = null;
  /** Its name on the wire; a new one when it must be asked for anew. */
  streamId;
  #token = '';
  #resuming = false;
  /** Index of the text from which on the server at hand was asked. */
  #said = 0;
  #text;
  #ended;
  #request;

  /**
   * @param {string} id a UUID.
   * @param {Request} request
   */
  constructor(id, { text = '', open = false, ...request }) {
    this.streamId = id;
    this.#request = request;
    this.#text = text;
    this.#ended = !open;
  }

  /** The whole text so far. */
  get text() {
    return this.#text;
  }

  /** How messages name the stream. */
  get stream() {
    return this.handle ?? this.streamId;
  }

  /**
   * The messages that ask for it: for all of it, or, where it had started, for the rest.
   *
   * @param {[number, number][]} wanted track and pts of the next packet of each live track.
   * @param {number} played ticks heard.
   * @returns {ClientMessage[]}
   */
  ask(wanted, played) {
    this.asked = true;
    const { streamId: stream_id } = this;
    if (this.#token) {
      this.#resuming = true;
      return [{ type: 'attach', stream_id, token: this.#token, tracks: wanted, played }];
    }
    const whole = this.#ended && this.#text.length - this.#said <= PIECE_CHARS;
    const text = this.#text.slice(this.#said, this.#said + PIECE_CHARS);
    /** @type {ClientMessage} */
    const start = { type: 'stream_start', stream_id, ...this.#request, text, open: !whole };
    return whole ? [start] : [start, ...this.#rest(this.#said + text.length)];
  }

  /**
   * More text, or its end.
   *
   * @param {string | null} piece null: the text ends.
   * @returns {ClientMessage[]}
   * @throws {AbrError} `text_after_end`.
   */
  write(piece) {
    if (this.#ended && piece === null) return []; // it ends no more than once
    if (this.#ended) throw new AbrError('text_after_end', 'text after the end of the text');
    const from = this.#text.length;
    if (piece === null) this.#ended = true;
    else this.#text += piece;
    // A server that takes it up again first says how much text it has.
    return this.asked && !this.#resuming ? this.#rest(from) : [];
  }

  /**
   * The server has begun.
   *
   * @param {import('./messages.js').StreamStarted} message
   * @returns {ClientMessage[]} the text that it lacks after an `attach`.
   */
  started({ stream, token, chars }) {
    this.handle = stream;
    this.#token = token;
    if (!this.#resuming) return [];
    this.#resuming = false;
    return this.#rest(this.#index(chars));
  }

  /** Where the text of the server at hand begins. */
  get said() {
    return this.#said;
  }

  /**
   * This server speaks so much of the text and then stops; the rest is to be asked of another.
   *
   * @param {number} chars code points.
   * @param {string} [voice] that spoke, for where none was asked for: the rest alone might get another.
   * @returns {boolean} whether there is a rest, or may be.
   */
  elsewhere(chars, voice) {
    this.#said = this.#index(chars);
    this.#token = '';
    if (voice) this.#request = { ...this.#request, voice: this.#request.voice ?? voice };
    return !this.#ended || this.#text.slice(this.#said).trim() !== '';
  }

  /** Index behind so many code points of what the server at hand was asked for. @param {number} chars */
  #index(chars) {
    return this.#said + Array.from(this.#text.slice(this.#said)).slice(0, chars).join('').length;
  }

  /** What ends it at the next connection, if a server holds it. @returns {ClientMessage[]} */
  get unwanted() {
    const { streamId: stream_id } = this;
    const attach = {
      type: /** @type {const} */ ('attach'),
      stream_id,
      token: this.#token,
      tracks: [],
      played: 0,
    };
    return this.#token ? [attach, { type: 'cancel', stream: stream_id }] : [];
  }

  /**
   * The connection is lost.
   *
   * @param {() => string} again names it anew, where nothing of it has come.
   */
  lost(again) {
    this.asked = this.#resuming = false;
    this.handle = null;
    if (!this.#token) this.streamId = again();
  }

  /**
   * @param {number} from
   * @returns {ClientMessage[]}
   */
  #rest(from) {
    const { stream } = this;
    /** @type {ClientMessage[]} */
    const messages = [];
    for (let at = from; at < this.#text.length; at += PIECE_CHARS) {
      messages.push({ type: 'text', stream, text: this.#text.slice(at, at + PIECE_CHARS) });
    }
    if (this.#ended) messages.push({ type: 'text_end', stream });
    return messages;
  }
}
