/**
 * The connections of one receiver: the one on which new things are asked, and those to servers that stop, on
 * which what runs goes on (SPEC.md, Moving).
 *
 * It dials, waits, dials again and hangs up. It must not know what is said, nor what for.
 */

import { AbrError } from './errors.js';
import { Pump } from './pump.js';
import { mayRetry, retryDelay } from './retry.js';
import { ticketed } from './ticket.js';
import { protocolsFor } from './transport.js';

/** @typedef {import('./terms.js').Settings} Settings */
/** @typedef {import('./terms.js').Place} Place */

/** Connections tried in a row without a `welcome` before speeches that wait are given up: some three minutes of backing off. A guess. */
export const TRIES_MOST = 10;

/**
 * Whom connections serve. `message`, `failed`, `positions`: as of a `Pump`, of this connection. `lost`: it has
 * ended, and what ran there needs another. `pending`: something waits for a connection. `gaveUp`: there will be
 * none. `tell`: events of the player.
 *
 * @typedef {{ welcome(): void, pending(): boolean, lost(pump: Pump): void,
 *   gaveUp(code: number, error: AbrError | null, fault: AbrError): void, again(): void,
 *   message(pump: Pump, id: string | null, message: import('./messages.js').ServerMessage, size: number): void,
 *   failed(id: string | null, error: AbrError, scope: string): void,
 *   positions(pump: Pump): Map<number, import('./report.js').Position>,
 *   tell(type: string, detail: Record<string, unknown>): void }} Host
 */

export class Lines {
  /** Where new things are asked. @type {Pump | null} */
  current = null;
  /** To servers that stop. @type {Set<Pump>} */
  #leaving = new Set();
  #settings;
  #place;
  #host;
  #tries = 0;
  /** @type {unknown} */
  #retry = null;
  #page = { hidden: false, saveData: false };
  #closed = false;

  /**
   * @param {Settings} settings
   * @param {Place} place
   * @param {Host} host
   */
  constructor(settings, place, host) {
    this.#settings = settings;
    this.#place = place;
    this.#host = host;
  }

  /** What the page says of itself, for the reports. @param {{ hidden: boolean, saveData: boolean }} page */
  see(page) {
    this.#page = page;
    for (const pump of this.#all) {
      pump.page = page;
      pump.report();
    }
  }

  get #all() {
    return this.current ? [...this.#leaving, this.current] : [...this.#leaving];
  }

  /**
   * Open a connection, unless there is one or its time has not come.
   *
   * @param {boolean} opus whether Opus can be decoded.
   */
  dial(opus) {
    if (this.current || this.#retry !== null) return;
    this.#host.tell('connecting', {});
    const { transport, clock } = this.#place;
    const { url, token, ticketUrl, client = 'abr-tts-js' } = this.#settings;
    const way = ticketUrl ? ticketed(transport, ticketUrl, this.#place.post) : transport;
    const codecs = opus ? ['opus', 'pcm16', 'ulaw'] : ['pcm16', 'ulaw'];
    /** @type {Pump} */
    const pump = new Pump(
      (hears) => way(url, protocolsFor(token), hears),
      { type: 'hello', level: 2, codecs, client },
      clock,
      {
        welcome: () => {
          this.#tries = 0;
          this.#host.welcome();
        },
        message: (id, message, size) => this.#host.message(pump, id, message, size),
        failed: (id, error, scope) => this.#host.failed(id, error, scope),
        positions: () => this.#host.positions(pump),
        lost: (code, error) => this.#onLost(pump, code, error),
      },
    );
    pump.page = this.#page;
    this.current = pump;
  }

  /**
   * Its server stops: what runs there goes on, new things are asked elsewhere.
   *
   * @param {Pump} pump
   * @param {boolean} used something runs there. Where nothing ever did, another one is not dialled at once:
   *   it may be the same server.
   */
  leave(pump, used) {
    if (pump !== this.current) return;
    this.current = null;
    this.#leaving.add(pump);
    this.#tries = Math.max(this.#tries, 1);
    if (!used) this.#wait(retryDelay(this.#tries, this.#place.random()));
  }

  /** Hang up where nothing runs. @param {(pump: Pump) => boolean} used */
  sweep(used) {
    for (const pump of this.#leaving) {
      if (used(pump)) continue;
      this.#leaving.delete(pump);
      pump.close();
    }
  }

  /** The wait is over, or the network is back. */
  hurry() {
    if (this.#retry === null) return;
    this.#place.clock.cancel(this.#retry);
    this.#retry = null;
    this.#host.again();
  }

  /** Say goodbye everywhere; nothing is told any more. */
  close() {
    this.#closed = true;
    if (this.#retry !== null) this.#place.clock.cancel(this.#retry);
    for (const pump of this.#all) pump.close();
    this.current = null;
    this.#leaving.clear();
  }

  /**
   * @param {Pump} pump
   * @param {number} code
   * @param {AbrError | null} error
   */
  #onLost(pump, code, error) {
    const current = pump === this.current;
    if (current) this.current = null;
    this.#leaving.delete(pump);
    if (this.#closed) return;
    this.#host.lost(pump);
    if (current) this.#goOn(error?.close ?? code, error);
    this.#host.again();
  }

  /**
   * @param {number} close
   * @param {AbrError | null} error
   */
  #goOn(close, error) {
    const again = mayRetry(close, error?.code ?? null) && this.#tries < TRIES_MOST;
    if (this.#host.pending() && again) {
      const delay = retryDelay(this.#tries, this.#place.random(), error?.retryAfter ?? null);
      this.#tries += 1;
      this.#host.tell('reconnecting', { attempt: this.#tries, inMs: delay * 1000 });
      this.#wait(delay);
      return;
    }
    const never = this.#tries >= TRIES_MOST;
    const sentence = never
      ? `no connection after ${TRIES_MOST} attempts`
      : `the connection was lost (WebSocket close ${close})`;
    this.#tries = 0;
    const fault = error ?? new AbrError(never ? 'connect_failed' : 'connection_lost', sentence);
    this.#host.gaveUp(close, error, fault);
  }

  /** @param {number} seconds */
  #wait(seconds) {
    this.#retry = this.#place.clock.later(() => this.hurry(), seconds * 1000);
  }
}
