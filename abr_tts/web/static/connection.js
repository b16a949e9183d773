/**
 * The client's side of one connection without I/O: bytes and time in, events and bytes out.
 *
 * It keeps the rules that need no knowledge of speech: who speaks first, which stream a message
 * belongs to and whether it may still come, limits, heartbeats. It opens no socket and reads no
 * clock; `protocol/vectors/connection.json` binds it.
 *
 * ```
 * connection.receive(data, now);                 // never throws for bad input: it becomes a `failed` event
 * for (const event of connection.eventsReceived()) …   // taken once; the list is then empty
 * for (const bytes of connection.dataToSend()) …       // always, even after receive: answers may wait
 * if (connection.closed) …                       // write what is left, then close with closeCode
 * connection.getTimer()                          // arm it; connection.handleTimer(now) when it is due
 * ```
 */

import { MESSAGE_LIMITS, decode, encode, streamOf } from './codec.js';
import { AbrError } from './errors.js';
import { PATIENCE, Pulse } from './pulse.js';
import { Streams } from './streams.js';

/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./messages.js').Welcome} Welcome */
/** @typedef {import('./codec.js').MessageLimits & import('./pulse.js').Patience} Limits */

/**
 * A message that is in order. `streamId` is the UUID of the stream it is about, if any.
 *
 * @typedef {{ kind: 'received', message: ServerMessage, streamId: string | null }} Received
 */
/**
 * A fault. `scope` says what ended: the stream `streamId`, the connection, or nothing. It may
 * differ from `error.scope`: a bad field of a message that is about no stream ends the connection.
 *
 * @typedef {{ kind: 'failed', error: AbrError, streamId: string | null,
 *   scope: import('./errors.js').Scope }} Failed
 */
/** @typedef {Received | Failed} Event */

/** Versions of the protocol that this code speaks. */
export const VERSIONS = [1];

/** The name of the WebSocket subprotocol, which both sides must name. */
export const SUBPROTOCOL = 'abr-tts.v1';

/** What a server says about a stream that has started. */
const OF_STREAM = ['audio', 'track', 'switch', 'mark', 'stream_end'];
const STARTS = ['stream_start', 'attach', 'audio_start'];
const ASKS = ['text', 'text_end', 'cancel', 'pause', 'resume', 'bit_rate_hint', 'uplink_audio'];

export class Connection {
  closed = false;
  /** WebSocket close code, once closed. @type {number | null} */
  closeCode = null;
  closeReason = '';
  /** What the server said of itself; null until it did. @type {Welcome | null} */
  welcome = null;
  #limits;
  #pulse;
  #streams = new Streams();
  #saidHello = false;
  /** @type {Event[]} */
  #events = [];
  /** @type {Uint8Array[]} */
  #out = [];

  /**
   * @param {number} now seconds on any monotonic clock, as everywhere below.
   * @param {Partial<Limits>} [limits] other than the protocol's defaults.
   */
  constructor(now, limits = {}) {
    this.#limits = { ...MESSAGE_LIMITS, ...PATIENCE, ...limits };
    this.#pulse = new Pulse(this.#limits, now);
  }

  /** The last round trip seen, of `hello` to `welcome`, then of pings, in ms; null before. */
  get rttMs() {
    return this.#pulse.rttMs;
  }

  /** Streams whose `stream_end` has not passed. */
  get activeStreams() {
    return this.#streams.active;
  }

  // ---- in

  /**
   * One WebSocket message came. Then take events and data.
   *
   * @param {Uint8Array | string} data
   * @param {number} now
   */
  receive(data, now) {
    if (this.closed) return;
    this.#pulse.heard(now);
    try {
      if (typeof data === 'string') throw new AbrError('bad_message', 'messages are binary, not text');
      const message = decode(data, 'server', this.#limits);
      this.#take(message);
    } catch (error) {
      if (!(error instanceof AbrError)) throw error;
      this.#refuse(error, data);
    }
  }

  /** What happened since the last call. */
  eventsReceived() {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Messages to write, in order, since the last call. */
  dataToSend() {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  // ---- out

  /**
   * Queue a message, and note what it does to its stream.
   *
   * Messages about a stream that is over, and all after the close, are dropped: they crossed.
   *
   * @param {ClientMessage} message
   * @returns {number} bytes queued; 0 when dropped.
   * @throws {AbrError} `bad_field`, `message_too_big`: the server would refuse it; `wrong_state`:
   *   no hello yet, or twice; what `Streams.start` and `ask` throw. Nothing has changed.
   */
  send(message) {
    if (this.closed) return 0;
    const bytes = encode(message);
    const most = this.#limits.messageBytes;
    if (bytes.length > most)
      throw new AbrError('message_too_big', `a message of ${bytes.length} bytes`, { limit: most });
    if (!this.#asks(message)) return 0;
    this.#out.push(bytes);
    return bytes.length;
  }

  /**
   * The listener has played a stream to its end: its handle is free, what still comes is ignored.
   *
   * @param {string} streamId
   */
  release(streamId) {
    const stream = this.#streams.get(streamId);
    if (stream) this.#streams.drop(stream);
  }

  /**
   * Send a ping now, to measure the round trip; also when none is due.
   *
   * @param {number} now
   */
  ping(now) {
    if (!this.closed && this.welcome) this.#out.push(encode({ type: 'ping', value: this.#pulse.ping(now) }));
  }

  /**
   * The connection is over; write what `dataToSend` still gives, then close with this code.
   *
   * @param {number} [code]
   * @param {string} [reason]
   */
  close(code = 1000, reason = '') {
    if (this.closed) return;
    this.closed = true;
    this.closeCode = code;
    this.closeReason = reason;
  }

  // ---- time

  /** When `handleTimer` is to be called at the latest; null when closed. */
  getTimer() {
    return this.closed ? null : Math.min(this.#pulse.deadline, this.#pulse.pingDue);
  }

  /**
   * Time passed: a ping may be due, or the server may be gone.
   *
   * @param {number} now
   */
  handleTimer(now) {
    if (this.closed) return;
    if (now >= this.#pulse.deadline) this.#fail(this.#pulse.fault());
    else if (now >= this.#pulse.pingDue) this.ping(now);
  }

  // ---- what the server said

  /** @param {ServerMessage} message */
  #take(message) {
    if (!this.welcome || message.type === 'welcome') this.#greet(message);
    else if (message.type === 'ping') this.#out.push(encode({ type: 'pong', value: message.value }));
    else if (message.type === 'pong') this.#pulse.pong(message.value);
    else if (OF_STREAM.includes(message.type)) this.#takeOfStream(/** @type {any} */ (message));
    else if (message.type === 'stream_started') {
      if (this.#streams.bind(message.stream_id, message.stream)) this.#received(message, message.stream_id);
    } else if (message.type === 'error') this.#takeError(message);
    else {
      const named = message.type === 'flow_control' ? this.#streams.get(message.stream) : null;
      this.#received(message, named?.id ?? null);
    }
  }

  /**
   * The first message, or one that may only be the first.
   *
   * @param {ServerMessage} message
   */
  #greet(message) {
    if (message.type === 'welcome' && !this.welcome && this.#saidHello) {
      if (!VERSIONS.includes(message.version)) {
        this.#fail(new AbrError('unsupported_version', `the server chose version ${message.version}`));
        return;
      }
      this.welcome = message;
      this.#pulse.greeted(message.ping_ms / 1000);
      this.#received(message);
    } else if (message.type === 'error') this.#takeError(message);
    else
      this.#fail(
        new AbrError('wrong_state', `${message.type} ${this.welcome ? 'after' : 'before'} the greeting`),
      );
  }

  /** @param {ServerMessage & { stream: number }} message */
  #takeOfStream(message) {
    const stream = this.#streams.get(message.stream);
    if (!stream) {
      const { stream: handle } = message;
      if (!this.#streams.was(handle))
        this.#fail(new AbrError('unknown_stream', `no stream ${handle} here`, { stream: handle }));
      return;
    }
    const ended = message.type === 'stream_end';
    if (ended || stream.state !== 'cancelled') this.#received(message, stream.id);
    if (message.type === 'stream_end') this.#streams.end(stream, message.reason);
  }

  /** @param {import('./messages.js').ErrorMessage} message */
  #takeError(message) {
    const stream = this.#streams.get(message.stream_id) ?? this.#streams.get(message.stream);
    this.#received(message, stream?.id ?? message.stream_id);
    if (message.scope === 'connection') this.close(1000, message.code);
    else if (message.scope === 'stream' && stream) this.#streams.drop(stream);
  }

  /**
   * @param {ServerMessage} message
   * @param {string | null} [streamId]
   */
  #received(message, streamId = null) {
    this.#events.push({ kind: 'received', message, streamId });
  }

  // ---- what we say

  /**
   * False: it changes nothing, or is about a stream that is over.
   *
   * @param {ClientMessage} message
   */
  #asks(message) {
    if ((message.type === 'hello') === this.#saidHello) {
      throw new AbrError('wrong_state', this.#saidHello ? 'hello was said' : 'say hello first');
    }
    this.#saidHello = true;
    if (STARTS.includes(message.type))
      this.#streams.start(/** @type {import('./streams.js').Start} */ (message));
    return (
      !ASKS.includes(message.type) || this.#streams.ask(/** @type {import('./streams.js').Ask} */ (message))
    );
  }

  // ---- faults

  /**
   * What was received could not be read.
   *
   * @param {AbrError} error
   * @param {Uint8Array | string} data
   */
  #refuse(error, data) {
    if (!this.welcome && error.scope === 'nothing')
      error = new AbrError('wrong_state', 'the first message must be welcome');
    if (error.scope !== 'stream' || typeof data === 'string') {
      this.#fail(error);
      return;
    }
    const ref = this.welcome ? streamOf(data, this.#limits) : null;
    if (ref === null) this.#fail(error, null, 'connection');
    else this.#fail(error, this.#streams.get(ref)?.id ?? null);
  }

  /**
   * An event, and the end of what the scope says.
   *
   * @param {AbrError} error
   * @param {string | null} [streamId]
   * @param {import('./errors.js').Scope} [scope]
   */
  #fail(error, streamId = null, scope = error.scope) {
    this.#events.push({ kind: 'failed', error, streamId, scope });
    const stream = this.#streams.get(streamId);
    if (scope === 'stream' && stream) this.#streams.drop(stream);
    else if (scope === 'connection') this.close(error.close ?? 1008, error.message);
  }
}
