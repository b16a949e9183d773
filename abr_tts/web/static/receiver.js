/**
 * The receive path as one object: commands and bytes in, blocks for the outlet and events out.
 *
 * It holds the queue of speeches, connects when one waits, connects again when the connection is
 * lost, and asks for the next speech when the one before has come. It runs in a Worker, or where there
 * is none on the page's own thread; it knows no page.
 */

import { Clips } from './clips.js';
import { AbrError, told } from './errors.js';
import { Feeder } from './feeder.js';
import { Pump } from './pump.js';
import { mayRetry, retryDelay } from './retry.js';
import { Sending } from './sending.js';
import { Speaking } from './speaking.js';
import { ticketed } from './ticket.js';
import { protocolsFor, withSession } from './transport.js';

/** @typedef {import('./speaking.js').Mark} Mark */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./terms.js').Request} Request */
/** @typedef {import('./terms.js').Settings} Settings */

/** Milliseconds between two `stats` events. */
const STATS_MS = 250;

/** Connections tried in a row without a `welcome` before speeches that wait are given up: some three minutes of backing off. A guess. */
export const TRIES_MOST = 10;

export class Receiver {
  #settings;
  #place;
  #tell;
  /** @type {Speaking[]} */
  #speakings = [];
  /** @type {Feeder<Mark>} */
  #feeder;
  /** @type {Pump | null} */
  #pump = null;
  /** @type {import('./decoding.js').Opus | null} */
  #opus = null;
  #ready = false;
  #closed = false;
  #tries = 0;
  /** @type {unknown} */
  #retry = null;
  /** @type {unknown} */
  #stats = null;
  #page = { hidden: false, saveData: false };
  /** Commands that wait until it is known whether Opus can be decoded. @type {Command[]} */
  #early = [];
  /** There is something to say, or its end still sounds. */
  #sounding = false;
  /** Connect although nothing is to be said. */
  #wanted = false;
  #clips;

  /**
   * @param {Settings} settings
   * @param {import('./terms.js').Place} place
   * @param {(tidings: import('./terms.js').Tidings) => void} tell
   */
  constructor(settings, place, tell) {
    // A ticket is good only where it was given.
    const url = settings.ticketUrl ? settings.url : withSession(settings.url, place.uuid());
    this.#settings = { ...settings, url };
    this.#place = place;
    this.#tell = tell;
    this.#clips = new Clips(place, tell, () => this.#go());
    this.#feeder = new Feeder({
      onHeard: (mark) => mark.speaking.heard(mark),
      onNews: (idle) => this.#onNews(idle),
      later: place.clock.later,
    });
    place.opus.then((opus) => {
      this.#opus = opus;
      this.#ready = true;
      this.#tell({ id: null, type: 'ready', detail: { opus: opus !== null } });
      for (const command of this.#early.splice(0)) this.do(command);
    });
  }

  /** @param {Command} command */
  do(command) {
    if (this.#closed) return;
    if (!this.#ready && command.do !== 'close') {
      this.#early.push(command);
      return;
    }
    if (command.do === 'speak') this.#begin(command.id, command.request, command.rate);
    else if (command.do === 'connect') this.#wanted = true;
    else if (command.do === 'voice') this.#clips.make(command.id, command.request, command.rate);
    else if (command.do === 'sound') this.#clips.write(command.id, command.samples);
    else if (command.do === 'forget') this.#clips.drop(command.id, this.#pump);
    else if (command.do === 'sink') this.#feeder.attach(command.port, command.rate, command.cushionMs);
    else if (command.do === 'page') this.#see(command);
    else if (command.do === 'online') this.#hurry();
    else if (command.do === 'close') this.#close();
    else this.#wish(command);
    this.#go();
  }

  /** @param {{ hidden: boolean, saveData: boolean }} page */
  #see({ hidden, saveData }) {
    this.#page = { hidden, saveData };
    if (!this.#pump) return;
    this.#pump.page = this.#page;
    this.#pump.report();
  }

  /** @param {Extract<Command, { id: string }>} command */
  #wish(command) {
    const speaking = this.#speakings.find(({ id }) => id === command.id);
    if (!speaking || speaking.over) return;
    const { stream, asked } = speaking.asking;
    const current = speaking === this.#speakings[0];
    if (command.do === 'write') {
      const { asking } = speaking;
      if (!(asking instanceof Sending)) this.#attempt(speaking, () => asking.write(command.text));
    } else if (command.do === 'pause') {
      speaking.pause();
      if (current) this.#feeder.hold(true);
      if (asked) this.#send([{ type: 'pause', stream }]);
    } else if (command.do === 'resume') {
      speaking.resume();
      if (current) this.#feeder.hold(false);
      if (asked) this.#send([{ type: 'resume', stream }]);
    } else if (command.do === 'stop') {
      if (asked) this.#send([{ type: 'cancel', stream }]);
      // The next speech may be under way behind it already.
      if (current) this.#feeder.flush((mark) => mark.speaking !== speaking);
      speaking.stop();
    }
  }

  #close() {
    this.#closed = true;
    for (const speaking of this.#speakings) {
      if (!speaking.over) speaking.stop();
      this.#finish(speaking);
    }
    this.#speakings = [];
    this.#clips.close();
    this.#feeder.close();
    this.#pump?.close();
    this.#pump = null;
    for (const timer of [this.#retry, this.#stats]) if (timer !== null) this.#place.clock.cancel(timer);
    this.#tell({ id: null, type: 'closed', detail: { code: 1000 } });
  }

  // ---- the turn of things

  /** After every input: begin, connect, ask, feed, finish. */
  #go() {
    if (this.#closed) return;
    this.#feed();
    for (const speaking of this.#speakings.filter(({ over }) => over)) this.#finish(speaking);
    const left = this.#speakings.filter(({ over }) => !over);
    this.#speakings = left;
    if (this.#sounding && !left.length && this.#feeder.quiet) {
      this.#sounding = false;
      this.#feeder.close();
      this.#tell({ id: null, type: 'silent', detail: {} });
    }
    const due = this.#wanted || this.#clips.waiting || left.some(({ received }) => !received);
    if (due && !this.#pump && this.#retry === null) this.#dial();
    this.#ask();
    this.#clips.send(this.#pump);
  }

  /**
   * @param {string} id
   * @param {Request} request
   * @param {number} rate
   */
  #begin(id, request, rate) {
    this.#sounding = true;
    this.#feeder.rate ||= rate;
    const { clock } = this.#place;
    /** @param {string} type @param {Record<string, unknown>} detail */
    const tell = (type, detail) => this.#tell({ id, type, detail });
    const { startTicks } = this.#settings;
    const host = { opus: this.#opus, rate: this.#feeder.rate, startTicks, now: () => clock.now(), tell };
    const speaking = new Speaking(id, request, host);
    this.#speakings.push(speaking);
    if (speaking.asking instanceof Sending) this.#clips.add(id, speaking.asking);
    this.#stats ??= clock.later(() => this.#onStats(), STATS_MS);
  }

  #feed() {
    for (const speaking of this.#speakings) if (!speaking.over && !speaking.feed(this.#feeder)) break;
  }

  /** @param {number} idle samples of silence. */
  #onNews(idle) {
    if (this.#closed) return;
    if (idle) this.#speakings.find(({ over }) => !over)?.idle(idle, this.#feeder);
    this.#go();
  }

  /** Ask for each speech when all before it have come. */
  #ask() {
    if (!this.#pump?.greeted) return;
    for (const speaking of this.#speakings) {
      if (!speaking.asking.asked && !speaking.received) {
        this.#attempt(speaking, () => speaking.ask());
      }
      if (!speaking.received) return;
    }
  }

  /**
   * @param {Speaking} speaking
   * @param {() => import('./messages.js').ClientMessage[]} make
   */
  #attempt(speaking, make) {
    try {
      this.#send(make());
    } catch (error) {
      if (!(error instanceof AbrError)) throw error;
      this.#fail(speaking, error);
    }
  }

  /** @param {import('./messages.js').ClientMessage[]} messages */
  #send(messages) {
    for (const message of messages) this.#pump?.send(message);
  }

  /**
   * @param {Speaking} speaking
   * @param {AbrError} error
   */
  #fail(speaking, error) {
    speaking.fail(error);
    this.#place.clock.later(() => this.#go(), 0);
  }

  /** @param {Speaking} speaking */
  #finish(speaking) {
    const { id, fault, report } = speaking;
    const { streamId, handle } = speaking.asking;
    this.#clips.drop(id);
    this.#pump?.settle(streamId, handle, report.complete ? speaking.position : null);
    speaking.close();
    if (fault) this.#tell({ id, type: 'error', detail: { ...told(fault), scope: 'stream', report } });
    else this.#tell({ id, type: 'end', detail: { report } });
  }

  #onStats() {
    const [first] = this.#speakings;
    this.#stats = first ? this.#place.clock.later(() => this.#onStats(), STATS_MS) : null;
    if (!first) return;
    const pump = this.#pump;
    const link = {
      rttMs: pump?.rttMs ?? null,
      goodputKbps: pump?.goodputKbps ?? null,
      receivedBytes: first.report.bytes,
      underruns: this.#feeder.starved,
    };
    const detail = { ...first.figures, ...link };
    this.#tell({ id: null, type: 'stats', detail });
    this.#tell({ id: first.id, type: 'stats', detail });
  }

  // ---- the connection

  #dial() {
    this.#tell({ id: null, type: 'connecting', detail: {} });
    const { transport, clock } = this.#place;
    const { url, token, ticketUrl, client = 'abr-tts-js' } = this.#settings;
    const way = ticketUrl ? ticketed(transport, ticketUrl) : transport;
    const codecs = this.#opus ? ['opus', 'pcm16', 'ulaw'] : ['pcm16', 'ulaw'];
    this.#pump = new Pump(
      (hears) => way(url, protocolsFor(token), hears),
      { type: 'hello', level: 2, codecs, client },
      clock,
      {
        welcome: () => this.#onWelcome(),
        message: (id, message, size) => this.#onMessage(id, message, size),
        failed: (id, error, scope) => this.#onFailed(id, error, scope),
        positions: () => this.#positions(),
        lost: (code, error) => this.#onLost(code, error),
      },
    );
    this.#pump.page = this.#page;
  }

  #onWelcome() {
    this.#tries = 0;
    this.#tell({ id: null, type: 'open', detail: {} });
    this.#go();
  }

  #positions() {
    return new Map(
      this.#speakings.flatMap(({ asking: { handle }, position }) =>
        handle === null ? [] : [[handle, position]],
      ),
    );
  }

  /**
   * @param {string | null} id
   * @param {ServerMessage} message
   * @param {number} size
   */
  #onMessage(id, message, size) {
    const speaking = this.#speakings.find(({ asking }) => asking.streamId === id);
    if (this.#clips.hear(id, message, this.#pump)) this.#go();
    else if (message.type === 'error') {
      if (message.scope === 'nothing')
        this.#tell({ id: speaking?.id ?? null, type: 'error', detail: told(message) });
      else if (message.scope === 'stream')
        speaking?.fail(new AbrError(message.code, message.message, message.detail, message.retry_after));
    } else if (message.type === 'going_away') {
      this.#tell({
        id: null,
        type: 'error',
        detail: {
          code: 'shutting_down',
          message: message.reason || 'the server is going away',
          scope: 'nothing',
          retryAfter: null,
        },
      });
    } else if (speaking) this.#attempt(speaking, () => speaking.onMessage(message, size));
    this.#go();
  }

  /**
   * @param {string | null} id
   * @param {AbrError} error
   * @param {string} scope
   */
  #onFailed(id, error, scope) {
    const speaking = this.#speakings.find(({ asking }) => asking.streamId === id);
    if (scope === 'stream' && speaking) this.#fail(speaking, error);
  }

  /**
   * @param {number} code
   * @param {AbrError | null} error
   */
  #onLost(code, error) {
    this.#pump = null;
    if (this.#closed) return;
    for (const speaking of this.#speakings) speaking.disconnected(this.#place.uuid);
    this.#clips.lost(null);
    const pending = this.#clips.waiting || this.#speakings.some(({ received }) => !received);
    const close = error?.close ?? code;
    const again = mayRetry(close, error?.code ?? null) && this.#tries < TRIES_MOST;
    if (pending && again) this.#reconnect(error?.retryAfter ?? null);
    else this.#giveUp(close, error);
    this.#go();
  }

  /** @param {number | null} retryAfter */
  #reconnect(retryAfter) {
    const { clock, random } = this.#place;
    const inMs = retryDelay(this.#tries, random(), retryAfter) * 1000;
    this.#tries += 1;
    this.#tell({ id: null, type: 'reconnecting', detail: { attempt: this.#tries, inMs } });
    this.#retry = clock.later(() => this.#hurry(), inMs);
  }

  /** The wait is over, or the network is back. */
  #hurry() {
    if (this.#retry === null) return;
    this.#place.clock.cancel(this.#retry);
    this.#retry = null;
    this.#go();
  }

  /**
   * @param {number} code
   * @param {AbrError | null} error
   */
  #giveUp(code, error) {
    const never = this.#tries >= TRIES_MOST;
    const sentence = never
      ? `no connection after ${TRIES_MOST} attempts`
      : `the connection was lost (WebSocket close ${code})`;
    const fault = error ?? new AbrError(never ? 'connect_failed' : 'connection_lost', sentence);
    this.#wanted = false;
    this.#tries = 0;
    const waiting = this.#speakings.filter(({ received }) => !received);
    for (const speaking of waiting) speaking.fail(fault);
    this.#clips.lost(fault);
    if (error || waiting.length)
      this.#tell({ id: null, type: 'error', detail: { ...told(fault), scope: 'connection' } });
    this.#tell({ id: null, type: 'closed', detail: { code } });
  }
}
