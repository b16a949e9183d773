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
import { Lines } from './lines.js';
import { Sending } from './sending.js';
import { Speaking } from './speaking.js';
import { withSession } from './transport.js';

export { TRIES_MOST } from './lines.js';

/** @typedef {import('./speaking.js').Mark} Mark */
/** @typedef {import('./pump.js').Pump} Pump */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./terms.js').Request} Request */
/** @typedef {import('./terms.js').Settings} Settings */

/** Milliseconds between two `stats` events. */
const STATS_MS = 250;

/** Messages that end speeches which were stopped without a connection; what is older ends after its time there. */
const UNWANTED_MOST = 32;

export class Receiver {
  #settings;
  #place;
  #tell;
  /** @type {Speaking[]} */
  #speakings = [];
  /** @type {Feeder<Mark>} */
  #feeder;
  #lines;
  /** @type {import('./decoding.js').Opus | null} */
  #opus = null;
  #ready = false;
  #closed = false;
  /** @type {unknown} */
  #stats = null;
  /** Commands that wait until it is known whether Opus can be decoded. @type {Command[]} */
  #early = [];
  /** There is something to say, or its end still sounds. */
  #sounding = false;
  /** Connect although nothing is to be said. */
  #wanted = false;
  #clips;
  /** Ends speeches that were stopped without a connection. @type {import('./messages.js').ClientMessage[]} */
  #unwanted = [];

  /**
   * @param {Settings} settings
   * @param {import('./terms.js').Place} place
   * @param {(tidings: import('./terms.js').Tidings) => void} tell
   */
  constructor(settings, place, tell) {
    // A ticket is good only where it was given.
    const url = settings.ticketUrl ? settings.url : withSession(settings.url, place.uuid());
    this.#settings = settings;
    this.#place = place;
    this.#tell = tell;
    this.#clips = new Clips(place, tell, () => this.#go());
    this.#lines = new Lines({ ...settings, url }, place, this.#host());
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

  /** What its connections need. @returns {import('./lines.js').Host} */
  #host() {
    return {
      welcome: () => {
        this.#tell({ id: null, type: 'open', detail: {} });
        for (const message of this.#unwanted.splice(0)) this.#lines.current?.send(message);
        this.#go();
      },
      pending: () => this.#clips.waiting || this.#speakings.some(({ received, pump }) => !received && !pump),
      lost: (pump) => this.#onLost(pump),
      gaveUp: (code, error, fault) => this.#giveUp(code, error, fault),
      again: () => this.#go(),
      message: (pump, id, message, size) => this.#onMessage(pump, id, message, size),
      failed: (id, error, scope) => this.#onFailed(id, error, scope),
      positions: (pump) => this.#positions(pump),
      tell: (type, detail) => this.#tell({ id: null, type, detail }),
    };
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
    else if (command.do === 'forget') this.#clips.drop(command.id);
    else if (command.do === 'sink') this.#feeder.attach(command.port, command.rate, command.cushionMs);
    else if (command.do === 'page') this.#lines.see({ hidden: command.hidden, saveData: command.saveData });
    else if (command.do === 'online') this.#lines.hurry();
    else if (command.do === 'close') this.#close();
    else this.#wish(command);
    this.#go();
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
      if (asked) this.#send(speaking, [{ type: 'pause', stream }]);
    } else if (command.do === 'resume') {
      speaking.resume();
      if (current) this.#feeder.hold(false);
      if (asked) this.#send(speaking, [{ type: 'resume', stream }]);
    } else if (command.do === 'stop') {
      if (asked) this.#send(speaking, [{ type: 'cancel', stream }]);
      else this.#unwanted = [...this.#unwanted, ...speaking.asking.unwanted].slice(-UNWANTED_MOST);
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
    this.#lines.close();
    if (this.#stats !== null) this.#place.clock.cancel(this.#stats);
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
    const due = this.#wanted || this.#clips.waiting || left.some(({ received, pump }) => !received && !pump);
    if (due) this.#lines.dial(this.#opus !== null);
    this.#ask();
    this.#clips.send(this.#lines.current);
    this.#lines.sweep((pump) => this.#runsOn(pump));
  }

  /** Whether anything of ours is under way on a connection. @param {Pump} pump */
  #runsOn(pump) {
    return this.#clips.on(pump) || this.#speakings.some((one) => one.pump === pump && !one.over);
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
    const { current } = this.#lines;
    if (!current?.greeted) return;
    for (const speaking of this.#speakings) {
      if (!speaking.asking.asked && !speaking.received) {
        speaking.pump = current;
        this.#clips.carry(speaking.id, current);
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
      this.#send(speaking, make());
    } catch (error) {
      if (!(error instanceof AbrError)) throw error;
      this.#fail(speaking, error);
    }
  }

  /**
   * @param {Speaking} speaking whose connection it goes over.
   * @param {import('./messages.js').ClientMessage[]} messages
   */
  #send({ pump }, messages) {
    for (const message of messages) pump?.send(message);
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
    const { id, fault, report, pump } = speaking;
    const { streamId, handle } = speaking.asking;
    this.#clips.drop(id);
    pump?.settle(streamId, handle, report.complete ? speaking.position : null);
    speaking.close();
    if (fault) this.#tell({ id, type: 'error', detail: { ...told(fault), scope: 'stream', report } });
    else this.#tell({ id, type: 'end', detail: { report } });
  }

  #onStats() {
    const [first] = this.#speakings;
    this.#stats = first ? this.#place.clock.later(() => this.#onStats(), STATS_MS) : null;
    if (!first) return;
    const pump = this.#lines.current ?? first.pump;
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

  /** @param {Pump} pump */
  #positions(pump) {
    const here = this.#speakings.filter((one) => one.pump === pump);
    return new Map(
      here.flatMap(({ asking: { handle }, position }) => (handle === null ? [] : [[handle, position]])),
    );
  }

  /**
   * @param {Pump} pump
   * @param {string | null} id
   * @param {ServerMessage} message
   * @param {number} size
   */
  #onMessage(pump, id, message, size) {
    const speaking = this.#speakings.find((one) => one.pump === pump && one.asking.streamId === id);
    if (this.#clips.hear(id, message, pump)) this.#go();
    else if (message.type === 'error') this.#onError(pump, speaking, message);
    else if (message.type === 'going_away') this.#onAway(pump, message);
    else if (speaking) this.#attempt(speaking, () => speaking.onMessage(message, size));
    if (speaking?.moved) this.#move(speaking);
    this.#go();
  }

  /**
   * @param {Pump} pump
   * @param {Speaking | undefined} speaking
   * @param {import('./messages.js').ErrorMessage} message
   */
  #onError(pump, speaking, message) {
    if (message.scope === 'nothing')
      this.#tell({ id: speaking?.id ?? null, type: 'error', detail: told(message) });
    else if (message.scope !== 'stream') return;
    else if (message.code === 'busy' && pump !== this.#lines.current && speaking) {
      // Its server stops and has not begun with it.
      speaking.refusedHere(this.#place.uuid);
      this.#clips.lost(pump);
    } else speaking?.fail(new AbrError(message.code, message.message, message.detail, message.retry_after));
  }

  /**
   * The server stops: what runs there goes on, what is new is asked elsewhere.
   *
   * @param {Pump} pump
   * @param {import('./messages.js').GoingAway} message
   */
  #onAway(pump, { reason }) {
    const words = reason || 'the server is going away';
    const detail = { code: 'shutting_down', message: words, scope: 'nothing', retryAfter: null };
    this.#tell({ id: null, type: 'error', detail });
    this.#lines.leave(pump, this.#runsOn(pump));
  }

  /**
   * Its server has spoken a part of the text, and another is to be asked for the rest.
   *
   * @param {Speaking} speaking
   */
  #move(speaking) {
    const { pump, asking } = speaking;
    speaking.moved = false;
    pump?.settle(asking.streamId, asking.handle, null);
    if (pump) this.#lines.leave(pump, true);
    speaking.disconnected(this.#place.uuid);
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

  /** What ran there needs another connection. @param {Pump} pump */
  #onLost(pump) {
    for (const speaking of this.#speakings)
      if (speaking.pump === pump) speaking.disconnected(this.#place.uuid);
    this.#clips.lost(pump);
  }

  /**
   * @param {number} code
   * @param {AbrError | null} error what the server said, or we.
   * @param {AbrError} fault
   */
  #giveUp(code, error, fault) {
    this.#wanted = false;
    // What runs on a connection to a server that stops may still end there.
    const waiting = this.#speakings.filter(({ received, pump }) => !received && !pump);
    for (const speaking of waiting) speaking.fail(fault);
    this.#clips.lost(null, fault);
    if (error || waiting.length)
      this.#tell({ id: null, type: 'error', detail: { ...told(fault), scope: 'connection' } });
    this.#tell({ id: null, type: 'closed', detail: { code } });
  }
}
