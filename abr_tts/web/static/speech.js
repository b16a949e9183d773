/**
 * One speech as a page sees it: wishes go in, events and at last a report come out.
 *
 * Positions (`at`, `pts`) are ticks of 1/48 000 s. Events, each with its values in `detail`:
 *
 * * `start` {voice, sampleRate, rung, firstSoundMs}: sound is heard.
 * * `switch` {rank, from, to, at, length, reason, words}: what is sent changes, and why.
 * * `played` {rung, at}: what is heard changes.
 * * `stall` {at}, `resumed` {at, ms}: the listener waits, and goes on.
 * * `mark` {pts, begin, end, from, to}: the clause begins to sound that is `text.slice(from, to)`; `begin` and
 *   `end` count code points, as the protocol does.
 * * `heard` {at, heard}: `text.slice(0, heard)` was heard, to a whole word; several times a second.
 * * `stats`: as the player's.
 * * `end` {report}: heard to its end, or stopped.
 * * `error` {code, message, scope, retryAfter}: with scope `nothing` a warning, else the end.
 */

import { AbrError } from './errors.js';
import { Target, happening } from './events.js';

/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./speaking.js').Report} Report */

export class Speech extends Target {
  /** The speech's UUID. */
  id;
  /** The report, when it was heard to its end or stopped; rejected with an `AbrError` where it failed. @type {Promise<Report>} */
  done;
  /** Whether it ended, in whatever way. */
  over = false;
  /** Index of the text up to which it was heard, as far as is known here by now: see `heardText`. */
  heard = 0;
  #text;
  #post;
  /** @type {(report: Report) => void} */
  #resolve = () => {};
  /** @type {(error: Error) => void} */
  #reject = () => {};

  /**
   * @param {string} id
   * @param {(command: Command) => void} post
   * @param {string} [text] its beginning.
   */
  constructor(id, post, text = '') {
    super();
    this.id = id;
    this.#text = text;
    this.#post = post;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.done.catch(() => {}); // whoever does not await it listens to `error`
  }

  /**
   * More text, of a speech that was asked for with `open`.
   *
   * @param {string} text
   * @throws {TypeError} it is no string.
   */
  append(text) {
    if (typeof text !== 'string') throw new TypeError('the text must be a string');
    this.#text += text;
    this.#post({ do: 'write', id: this.id, text });
  }

  /** The text that was heard, for the history of a language model that was interrupted. */
  get heardText() {
    return this.#text.slice(0, this.heard);
  }

  /** No more text comes. Twice is once. */
  end() {
    this.#post({ do: 'write', id: this.id, text: null });
  }

  /** Sound fades out and stands; what is still to come goes on arriving. */
  pause() {
    this.#post({ do: 'pause', id: this.id });
  }

  /** On with the next sample. */
  resume() {
    this.#post({ do: 'resume', id: this.id });
  }

  /**
   * Silence, at once; the next speech of the queue begins.
   *
   * @returns {number} `heard`; the report tells it once more, to the sample.
   */
  stop() {
    this.#post({ do: 'stop', id: this.id });
    return this.heard;
  }

  /**
   * The receive path tells something of this speech.
   *
   * @param {string} type
   * @param {any} detail
   * @internal
   */
  hear(type, detail) {
    if (this.over) return;
    this.heard = detail.heard ?? detail.report?.heard ?? this.heard;
    this.over = type === 'end' || (type === 'error' && detail.scope !== 'nothing');
    if (type === 'end') this.#resolve(detail.report);
    else if (this.over) this.#reject(new AbrError(detail.code, detail.message, {}, detail.retryAfter));
    this.dispatchEvent(happening(type, detail));
  }
}
