/**
 * One speech as a page sees it: wishes go in, events and at last a report come out.
 *
 * Positions (`at`, `pts`) are ticks of 1/48 000 s. Events, each with its values in `detail`:
 *
 * * `start` {voice, sampleRate, rung, firstSoundMs}: sound is heard.
 * * `switch` {rank, from, to, at, length, reason, words}: what is sent changes, and why.
 * * `played` {rung, at}: what is heard changes.
 * * `stall` {at}, `resumed` {at, ms}: the listener waits, and goes on.
 * * `mark` {pts, begin, end}: the clause text[begin:end] (in code points) begins to sound.
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
  #post;
  /** @type {(report: Report) => void} */
  #resolve = () => {};
  /** @type {(error: Error) => void} */
  #reject = () => {};

  /**
   * @param {string} id
   * @param {(command: Command) => void} post
   */
  constructor(id, post) {
    super();
    this.id = id;
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
    this.#post({ do: 'write', id: this.id, text });
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

  /** Silence, at once; the next speech of the queue begins. */
  stop() {
    this.#post({ do: 'stop', id: this.id });
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
    this.over = type === 'end' || (type === 'error' && detail.scope !== 'nothing');
    if (type === 'end') this.#resolve(detail.report);
    else if (this.over) this.#reject(new AbrError(detail.code, detail.message, {}, detail.retryAfter));
    this.dispatchEvent(happening(type, detail));
  }
}
