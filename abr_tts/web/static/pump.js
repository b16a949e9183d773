/**
 * One connection at work: bytes from a transport to events, messages and reports to bytes, timers.
 *
 * It moves things and decides nothing. A connection that has ended stays ended: whoever wants to go
 * on opens another pump.
 */

import { Connection } from './connection.js';
import { AbrError } from './errors.js';
import { Reporter } from './report.js';

/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */

/** The clock and its timers; seconds, and milliseconds as `setTimeout` has them. @typedef {{ now(): number, later(call: () => void, ms: number): unknown, cancel(timer: any): void }} Clock */

/**
 * Whom a pump serves. `welcome`: the server greeted. `message`: of a stream (its UUID), of so many
 * bytes. `failed`: a fault of one stream that we saw, or (null) a warning. `positions`: of every stream
 * that plays, by handle. `lost`: the end, with the WebSocket's code and what the server or we said last.
 *
 * @typedef {{ welcome(): void, message(id: string | null, message: ServerMessage, size: number): void,
 *   failed(id: string | null, error: AbrError, scope: string): void,
 *   positions(): Map<number, import('./report.js').Position>,
 *   lost(code: number, error: AbrError | null): void }} Host
 */

/** Seconds after which a link that took nothing is looked at again: half the shortest time between two reports. */
const CLOGGED_S = 0.05;

export class Pump {
  #connection;
  #clock;
  #host;
  #reporter;
  /** @type {import('./transport.js').Link} */
  #link;
  #open = false;
  #over = false;
  /** @type {unknown} */
  #timer = null;
  /** @type {AbrError | null} */
  #lastWords = null;

  /**
   * @param {(told: import('./transport.js').Told) => import('./transport.js').Link} dial
   * @param {import('./messages.js').Hello} hello
   * @param {Clock} clock
   * @param {Host} host
   */
  constructor(dial, hello, clock, host) {
    this.#clock = clock;
    this.#host = host;
    this.#connection = new Connection(clock.now());
    this.#reporter = new Reporter(clock.now());
    this.#connection.send(hello);
    this.#link = dial({
      opened: () => this.#opened(),
      received: (data) => this.#received(data),
      closed: (code, _reason, error) => {
        this.#lastWords ??= error ?? null;
        this.#end(code);
      },
    });
    this.#arm();
  }

  /** Whether the server greeted. */
  get greeted() {
    return this.#connection.welcome !== null && !this.#over;
  }

  /** The last round trip in ms, null before the first. */
  get rttMs() {
    return this.#connection.rttMs;
  }

  /** Bytes that wait on this side, as far as is known. */
  get unsent() {
    return this.#link.unsent ?? 0;
  }

  /** Payload bytes that came. */
  get received() {
    return this.#reporter.received;
  }

  /** What came lately, in kbit/s; null when nothing did. */
  get goodputKbps() {
    const rate = this.#reporter.goodput(this.#clock.now());
    return rate < 0 ? null : (rate * 8) / 1000;
  }

  /**
   * What the page says of itself, for the reports.
   *
   * @param {{ hidden: boolean, saveData: boolean }} page
   */
  set page({ hidden, saveData }) {
    this.#reporter.hidden = hidden;
    this.#reporter.saveData = saveData;
  }

  /**
   * @param {ClientMessage} message
   * @throws {AbrError} what the server would answer; nothing was sent.
   */
  send(message) {
    this.#connection.send(message);
    this.#flush();
  }

  /**
   * A stream is over for this side: the last report goes at once, what still comes is ignored.
   *
   * @param {string} id
   * @param {number | null} handle
   * @param {import('./report.js').Position | null} position where it was heard to its end.
   */
  settle(id, handle, position) {
    if (handle !== null) {
      if (position) this.#report(new Map([[handle, position]]));
      this.#reporter.close(handle);
    }
    this.#connection.release(id);
    this.#flush();
  }

  /** Something changed that the server should hear of, if it is time. */
  report() {
    this.#onTimer();
  }

  /** Say goodbye; nothing is told any more. */
  close() {
    this.#connection.close();
    this.#flush();
    this.#over = true;
    this.#arm();
  }

  #opened() {
    this.#open = true;
    this.#flush();
  }

  /** @param {Uint8Array | string} data */
  #received(data) {
    if (this.#over) return;
    const now = this.#clock.now();
    this.#reporter.arrived(data.length, now);
    this.#connection.receive(data, now);
    this.#takeEvents(data.length, now);
    this.#flush();
  }

  /**
   * @param {number} size
   * @param {number} now
   */
  #takeEvents(size, now) {
    for (const event of this.#connection.eventsReceived()) {
      if (event.kind === 'received') this.#dispatch(event.message, event.streamId, size, now);
      else if (event.scope === 'connection') this.#lastWords = event.error;
      else this.#host.failed(event.streamId, event.error, event.scope);
    }
  }

  /**
   * @param {ServerMessage} message
   * @param {string | null} id
   * @param {number} size
   * @param {number} now
   */
  #dispatch(message, id, size, now) {
    if (message.type === 'welcome') {
      this.#reporter.shortestS = message.hint_ms / 1000;
      this.#host.welcome();
      return;
    }
    if (message.type === 'error' && message.scope === 'connection') {
      this.#lastWords = new AbrError(message.code, message.message, message.detail, message.retry_after);
    } else if (message.type === 'audio')
      this.#reporter.audio(message.stream, message.track, message.pts, now);
    this.#host.message(id, message, size);
    // Of a clip of which a voice is made nothing is reported: it has no position.
    if (message.type === 'stream_started' && this.#host.positions().has(message.stream))
      this.#reporter.open(message.stream, now);
  }

  #flush() {
    if (!this.#open || this.#over) return;
    for (const bytes of this.#connection.dataToSend()) this.#link.send(bytes);
    this.#arm();
    if (this.#connection.closed) {
      this.#link.close(this.#connection.closeCode ?? 1000, this.#connection.closeReason);
      this.#end(this.#connection.closeCode ?? 1000);
    }
  }

  #arm() {
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
    const now = this.#clock.now();
    const report = this.#reporter.getTimer();
    const reportDue = report !== null && this.#open && this.#link.clogged ? now + CLOGGED_S : report;
    const due = [this.#connection.getTimer(), reportDue].filter((time) => time !== null);
    if (this.#over || !due.length) return;
    const ms = Math.max(0, (Math.min(...due) - now) * 1000);
    this.#timer = this.#clock.later(() => this.#onTimer(), Math.ceil(ms));
  }

  #onTimer() {
    if (this.#over) return;
    const now = this.#clock.now();
    const timer = this.#connection.getTimer();
    if (timer !== null && timer <= now) {
      this.#connection.handleTimer(now);
      this.#takeEvents(0, now);
    }
    // No report into a clogged link: it would be old when it left.
    if (this.#open && !this.#link.clogged) this.#report(this.#host.positions());
    if (this.#connection.closed && !this.#open) {
      this.#link.close(1000, '');
      this.#end(1006);
    }
    this.#flush();
    this.#arm();
  }

  /** @param {Map<number, import('./report.js').Position>} positions */
  #report(positions) {
    const now = this.#clock.now();
    for (const hint of this.#reporter.poll(now, positions, this.#connection.rttMs))
      this.#connection.send(hint);
    if (positions.size && this.#reporter.nextPing <= now) {
      this.#connection.ping(now);
      this.#reporter.pinged(now);
    }
  }

  /** @param {number} code */
  #end(code) {
    if (this.#over) return;
    this.#over = true;
    this.#arm();
    this.#host.lost(code, this.#lastWords);
  }
}
