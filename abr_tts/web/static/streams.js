/**
 * The streams of one connection as a client sees them: what may still be asked of each, and which
 * integer names it.
 *
 * A table of states, the handles, and what is remembered of streams that are gone. Knows no
 * media, sends nothing.
 */

import { AbrError } from './errors.js';

/** @typedef {import('./messages.js').StreamRef} StreamRef */
/**
 * @typedef {import('./messages.js').StreamStart | import('./messages.js').Attach
 *   | import('./messages.js').AudioStart} Start
 */
/** @typedef {{ type: string, stream: StreamRef, text?: string }} Ask */
/** Of `clip` sound may be sent, of `open` text. @typedef {'open' | 'clip' | 'complete' | 'cancelled' | 'draining' | 'moved' | 'gone'} State */
/** Pass it on; it changes nothing; text after the end; sound for a stream that takes none. @typedef {'pass' | 'ignore' | 'late' | 'stray'} Verdict */
/** @typedef {'text' | 'text_end' | 'cancel' | 'audio' | 'other'} Signal */

/**
 * One stream. `worded`: some of its text was more than white space, or it takes sound.
 *
 * @typedef {{ id: string, state: State, handle: number | null, worded: boolean }} Stream
 */

/**
 * State, signal: next state and verdict (SPEC.md, The life of a stream).
 *
 * @type {Record<Exclude<State, 'gone'>, Record<Signal, [State, Verdict]>>}
 */
export const NEXT = {
  open: {
    text: ['open', 'pass'],
    text_end: ['complete', 'pass'],
    cancel: ['cancelled', 'pass'],
    audio: ['gone', 'stray'],
    other: ['open', 'pass'],
  },
  clip: {
    text: ['gone', 'late'],
    text_end: ['complete', 'pass'],
    cancel: ['cancelled', 'pass'],
    audio: ['clip', 'pass'],
    other: ['clip', 'pass'],
  },
  complete: {
    text: ['gone', 'late'],
    text_end: ['complete', 'ignore'],
    cancel: ['cancelled', 'pass'],
    audio: ['gone', 'stray'],
    other: ['complete', 'pass'],
  },
  cancelled: {
    text: ['cancelled', 'ignore'],
    text_end: ['cancelled', 'ignore'],
    cancel: ['cancelled', 'ignore'],
    audio: ['cancelled', 'ignore'],
    other: ['cancelled', 'ignore'],
  },
  draining: {
    text: ['gone', 'late'],
    text_end: ['draining', 'ignore'],
    cancel: ['gone', 'pass'],
    audio: ['gone', 'stray'],
    other: ['draining', 'pass'],
  },
  // The rest of its text is to be asked for at another server: what is said of it here is of no use.
  moved: {
    text: ['moved', 'ignore'],
    text_end: ['moved', 'ignore'],
    cancel: ['gone', 'pass'],
    audio: ['gone', 'stray'],
    other: ['moved', 'pass'],
  },
};

/** What a message says of its stream, if not `other`. @type {Record<string, Signal>} */
const SIGNALS = { text: 'text', text_end: 'text_end', cancel: 'cancel', uplink_audio: 'audio' };

/** Streams at once, draining ones not counted: as many as there are handles. */
const STREAMS_MOST = 255;

/** Ids of streams that are gone, kept to refuse a second use; a choice: some 100 kB at most. */
const REMEMBERED = 1_024;

/** Anything but white space, as Python's `str.isspace` sees it: the server asks that. */
const WORD = /[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export class Streams {
  /** @type {Map<string, Stream>} */
  #byId = new Map();
  /** @type {Map<number, Stream>} */
  #byHandle = new Map();
  /** @type {Set<string>} */
  #gone = new Set();
  /** @type {Set<number>} */
  #goneHandles = new Set();

  /** Streams that count against the limit: all but the draining ones. */
  get active() {
    let count = 0;
    for (const { state } of this.#byId.values()) count += state === 'draining' ? 0 : 1;
    return count;
  }

  /**
   * The stream with this handle or id, if it lives.
   *
   * @param {StreamRef | null} ref
   */
  get(ref) {
    if (typeof ref === 'number') return this.#byHandle.get(ref);
    return typeof ref === 'string' ? this.#byId.get(ref.toLowerCase()) : undefined;
  }

  /**
   * Whether this named a stream that is gone.
   *
   * @param {StreamRef} ref
   */
  was(ref) {
    return typeof ref === 'number' ? this.#goneHandles.has(ref) : this.#gone.has(ref.toLowerCase());
  }

  /**
   * A stream is asked for.
   *
   * @param {Start} message
   * @throws {AbrError} `duplicate_stream`, `too_many_streams`, `empty_text`: what the server would answer.
   */
  start(message) {
    const id = message.stream_id.toLowerCase();
    const again = message.type === 'attach';
    if (this.#byId.has(id) || (this.#gone.has(id) && !again)) {
      const state = this.#byId.has(id) ? 'in' : 'no longer in';
      throw new AbrError('duplicate_stream', `stream ${id} is ${state} use; an id names one stream`);
    }
    if (this.active >= STREAMS_MOST) {
      throw new AbrError('too_many_streams', `more than ${STREAMS_MOST} streams at once`, {
        limit: STREAMS_MOST,
      });
    }
    /** @type {Stream} */
    const stream = { id, state: again ? 'open' : 'complete', handle: null, worded: again };
    if (message.type === 'audio_start') Object.assign(stream, { state: 'clip', worded: true });
    if (message.type === 'stream_start') {
      stream.worded = WORD.test(message.text ?? '');
      if (message.open) stream.state = 'open';
      else if (!stream.worded) throw new AbrError('empty_text', 'there is no text to speak');
    }
    this.#gone.delete(id);
    this.#byId.set(id, stream);
  }

  /**
   * Something is asked of a stream. False: it changes nothing, or the stream is over.
   *
   * @param {Ask} message
   * @throws {AbrError} `text_after_end`, `empty_text`, `bad_audio`: what the server would answer; nothing
   *   has changed.
   */
  ask(message) {
    const stream = this.get(message.stream);
    if (!stream || stream.state === 'gone') return false;
    const { type } = message;
    const signal = SIGNALS[type] ?? 'other';
    const [state, verdict] = NEXT[stream.state][signal];
    if (verdict === 'stray')
      throw new AbrError('bad_audio', 'sound for a stream that takes none, or no more');
    if (verdict === 'late') throw new AbrError('text_after_end', 'text after the end of the text');
    if (verdict === 'ignore') return false;
    if (signal === 'text') stream.worded ||= WORD.test(message.text ?? '');
    if (signal === 'text_end' && !stream.worded)
      throw new AbrError('empty_text', 'the text ended before there was any');
    stream.state = state;
    if (state === 'gone') this.drop(stream);
    return true;
  }

  /**
   * Take the handle that the server gave. False: no stream of ours.
   *
   * @param {string} id
   * @param {number} handle
   */
  bind(id, handle) {
    const stream = this.#byId.get(id);
    const before = this.#byHandle.get(handle);
    if (before && before !== stream) this.drop(before);
    if (!stream) return false;
    if (stream.handle !== null && stream.handle !== handle) {
      this.#byHandle.delete(stream.handle); // a server that names it anew
      this.#goneHandles.add(stream.handle);
    }
    stream.handle = handle;
    this.#byHandle.set(handle, stream);
    this.#goneHandles.delete(handle);
    return true;
  }

  /**
   * `stream_end` passed: the listener plays on, unless it was the listener who ended it.
   *
   * @param {Stream} stream
   * @param {string} reason
   */
  end(stream, reason) {
    if (stream.state === 'cancelled') this.drop(stream);
    else stream.state = reason === 'moved' ? 'moved' : 'draining';
  }

  /**
   * The stream is over. One that never had a handle was refused: its id may come again.
   *
   * @param {Stream} stream
   */
  drop(stream) {
    if (this.#byId.get(stream.id) !== stream) return;
    const cancelled = stream.state === 'cancelled';
    stream.state = 'gone';
    this.#byId.delete(stream.id);
    if (stream.handle !== null) {
      this.#byHandle.delete(stream.handle);
      this.#goneHandles.add(stream.handle);
    }
    if (stream.handle === null && !cancelled) return;
    this.#gone.add(stream.id);
    if (this.#gone.size > REMEMBERED)
      this.#gone.delete(/** @type {string} */ (this.#gone.values().next().value));
  }
}
