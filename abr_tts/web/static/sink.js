/**
 * A browser's loudspeaker: an AudioContext at its own rate, and an outlet that is fed by a port.
 *
 * The outlet is an AudioWorklet where there is one (https, localhost), else a ScriptProcessor. A
 * context whose clock stands although it says that it runs (seen after a change of devices or a long
 * sleep), or that somebody closed, is replaced by another, and the same samples go on there.
 */

import { SCRIPT_CUSHION_MS, scriptNode } from './script.js';
import { FRAMES_PER_SECOND, TICKS_PER_SECOND } from './units.js';

/** @typedef {import('./speaker.js').Opened} Opened */
/** @typedef {import('./speaker.js').Sink} Sink */

/**
 * Milliseconds of sound that lie ready at an AudioWorklet: the Worker that feeds it may be that late.
 * With 100 a machine of eight jobs on two cores ran dry now and then (tests/browser).
 */
const WORKLET_CUSHION_MS = 200;

/** Milliseconds in which a context that may run does so. */
const RESUME_MS = 300;

/** Milliseconds between two looks at the clock; it is frozen when it stands for two of them. */
const WATCH_MS = 500;

/** Milliseconds that a context which froze is kept, so that its outlet can still say where it stopped. */
const OLD_MS = 500;

/** Milliseconds that a node stays connected after its end: a ScriptProcessor's last two buffers are still to sound. */
const LAST_MS = 250;

/** @implements {Sink} */
export class WebAudioSink {
  /** @type {(locked: boolean) => void} */
  onlock = () => {};
  /** @type {(opened: Opened) => void} */
  onport = () => {};
  #Context;
  #worklet;
  /** @type {AudioContext | null} */
  #context = null;
  /** @type {AudioNode | null} */
  #node = null;
  #open = false;
  #locked = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #watch;
  /** Contexts whose outlet has been loaded. @type {WeakSet<BaseAudioContext>} */
  #loaded = new WeakSet();

  /**
   * @param {{ worklet: string | URL, Context?: typeof AudioContext }} parts where `worklet.js` lies;
   *   another AudioContext than the browser's.
   */
  constructor({ worklet, Context }) {
    const old = /** @type {{ webkitAudioContext?: typeof AudioContext }} */ (globalThis).webkitAudioContext;
    this.#Context = Context ?? globalThis.AudioContext ?? old;
    this.#worklet = worklet;
  }

  /** Hz of the context, which chooses it. */
  get rate() {
    return this.#here.sampleRate;
  }

  get #here() {
    if (!this.#context || this.#context.state === 'closed') this.#context = this.#make();
    return this.#context;
  }

  /**
   * @param {number} [rate] for a context that takes another's place in mid-speech; else the device's.
   */
  #make(rate) {
    if (!this.#Context) throw new Error('this browser has no Web Audio');
    const session = /** @type {{ audioSession?: { type: string } }} */ (navigator).audioSession;
    if (session) session.type = 'playback'; // or a phone's mute switch silences speech
    let context = new this.#Context(rate ? { sampleRate: rate } : undefined);
    if (context.sampleRate % FRAMES_PER_SECOND) {
      void context.close(); // 11 025 Hz has no whole frame of 20 ms: the browser's own resampler is wanted
      context = new this.#Context({ sampleRate: TICKS_PER_SECOND });
    }
    context.onstatechange = () => {
      if (context === this.#context) this.#onState();
    };
    return context;
  }

  /** An outlet, connected to the loudspeaker. */
  async open() {
    this.#open = true;
    this.#run();
    const opened = await this.#connect(this.#here);
    this.#startWatch();
    return opened;
  }

  /** The outlet ends by itself, as whoever feeds it says; nothing of it is kept. */
  release() {
    this.#open = false;
    clearInterval(this.#watch);
    const node = this.#node;
    this.#node = null;
    if (node) setTimeout(() => node.disconnect(), LAST_MS);
  }

  async unlock() {
    await this.#here.resume();
  }

  close() {
    this.release();
    this.#context?.close().catch(() => {});
    this.#context = null;
  }

  // ---- the outlet

  /**
   * @param {AudioContext} context
   * @returns {Promise<Opened>}
   */
  async #connect(context) {
    const worklet = await this.#load(context);
    const { node, port } = worklet ? workletOutlet(context) : scriptOutlet(context);
    node.connect(context.destination);
    this.#node = node;
    return { port, rate: context.sampleRate, cushionMs: worklet ? WORKLET_CUSHION_MS : SCRIPT_CUSHION_MS };
  }

  /**
   * Whether the context has our AudioWorklet now.
   *
   * @param {AudioContext} context
   */
  async #load(context) {
    if (!context.audioWorklet || this.#loaded.has(context)) return Boolean(context.audioWorklet);
    try {
      await context.audioWorklet.addModule(this.#worklet);
      this.#loaded.add(context);
      return true;
    } catch {
      return false; // a policy of the page, or an old browser: a ScriptProcessor will do
    }
  }

  // ---- gestures

  #run() {
    const context = this.#here;
    if (context.state === 'running') return;
    context.resume().catch(() => {});
    setTimeout(() => {
      if (this.#open && context === this.#context && context.state !== 'running' && !this.#locked) {
        this.#locked = true;
        this.onlock(true);
      }
    }, RESUME_MS);
  }

  #onState() {
    if (this.#context?.state === 'running' && this.#locked) {
      this.#locked = false;
      this.onlock(false);
    } else if (this.#open && this.#context?.state !== 'running' && this.#context?.state !== 'closed')
      this.#run();
  }

  // ---- the watchdog

  #startWatch() {
    clearInterval(this.#watch);
    if (!this.#open) return;
    let [last, stood] = [-1, 0];
    this.#watch = setInterval(() => {
      const context = this.#context;
      if (!context) return;
      stood = context.state === 'running' && context.currentTime === last ? stood + 1 : 0;
      last = context.currentTime;
      if (stood < 2 && context.state !== 'closed') return;
      stood = 0;
      this.#replace(context);
    }, WATCH_MS);
  }

  /** @param {AudioContext} old */
  async #replace(old) {
    this.#node = null;
    const context = this.#make(old.sampleRate);
    this.#context = context;
    const opened = await this.#connect(context);
    this.onport(opened);
    this.#run();
    setTimeout(() => old.close().catch(() => {}), OLD_MS);
  }
}

/** @param {AudioContext} context */
function workletOutlet(context) {
  const node = new AudioWorkletNode(context, 'abr-tts-outlet', {
    numberOfInputs: 0,
    outputChannelCount: [1],
  });
  const { port1, port2 } = new MessageChannel();
  node.port.postMessage(port2, [port2]);
  return { node, port: /** @type {import('./feeder.js').Port} */ (/** @type {unknown} */ (port1)) };
}

/** @param {AudioContext} context */
function scriptOutlet(context) {
  const { port1, port2 } = new MessageChannel();
  const { node, obey } = scriptNode(context, (news) => port2.postMessage(news));
  port2.onmessage = ({ data }) => {
    obey(data);
    if ('stop' in data) port2.close();
  };
  return { node, port: /** @type {import('./feeder.js').Port} */ (/** @type {unknown} */ (port1)) };
}
