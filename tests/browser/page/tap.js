/** What the tests call: a player with a tap on its loudspeaker, and what came out of it. */

import { Player, WebAudioSink } from '/sdk/player.js';

const taps = [];
const parts = [];
window.first = null;

// The recorder is loaded beside the outlet, so that it hears from the first sample on.
if (window.AudioWorklet) {
  const { addModule } = AudioWorklet.prototype;
  AudioWorklet.prototype.addModule = async function (url) {
    await addModule.call(this, '/page/recorder.js');
    await addModule.call(this, url);
  };
}

const { connect } = AudioNode.prototype;
AudioNode.prototype.connect = function (to, ...rest) {
  if (to instanceof AudioDestinationNode && !window.untapped)
    (this.context.audioWorklet ? tap : tapScript)(this);
  return connect.call(this, to, ...rest);
};

function tap(node) {
  const recorder = new AudioWorkletNode(node.context, 'recorder');
  connect.call(node, recorder);
  connect.call(recorder, node.context.destination); // or nobody would pull; what it gives is silence
  recorder.port.onmessage = ({ data }) => {
    if (data.first) window.first ??= data.first;
    else parts.push(data);
  };
  taps.push(recorder);
}

/** The same where there is no AudioWorklet. */
function tapScript(node) {
  const recorder = node.context.createScriptProcessor(2048, 1, 1);
  connect.call(node, recorder);
  connect.call(recorder, node.context.destination);
  recorder.onaudioprocess = ({ inputBuffer }) => parts.push(inputBuffer.getChannelData(0).slice());
  taps.push(recorder);
}

/** All that went to the loudspeaker, one outlet after another. */
function heard() {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A browser's loudspeaker at this rate. */
const at = (rate) =>
  class extends AudioContext {
    constructor() {
      super({ sampleRate: rate });
    }
  };

/** A context whose clock stands after `freeze`, and which says that it runs. */
class Freezing extends AudioContext {
  #frozen = false;

  constructor(...settings) {
    super(...settings);
    window.contexts = [...(window.contexts ?? []), this];
  }

  get state() {
    return this.#frozen ? 'running' : super.state;
  }

  freeze() {
    this.#frozen = true;
    return super.suspend();
  }
}

window.make = ({ rate, freezing, Context, url = '/v1/stream', ...options } = {}) => {
  Context ??= freezing ? Freezing : rate ? at(rate) : AudioContext;
  window.player = new Player(url, {
    sink: new WebAudioSink({ worklet: '/sdk/worklet.js', Context }),
    ...options,
  });
  window.log = [];
  window.standing = new Promise((resolve) => player.addEventListener('ready', resolve));
  for (const type of [
    'locked',
    'unlocked',
    'connecting',
    'open',
    'reconnecting',
    'closed',
    'error',
    'stats',
  ]) {
    player.addEventListener(type, ({ detail }) => log.push([type, detail]));
  }
  return window.player;
};

/** Speak, and wait for the end: the report. */
window.speak = (text, wishes) => {
  const speech = window.player.speak(text, wishes);
  window.events = [];
  for (const type of ['start', 'switch', 'played', 'stall', 'resumed', 'mark', 'end', 'error']) {
    speech.addEventListener(type, ({ detail }) => events.push([type, detail]));
  }
  window.speech = speech;
  return speech.done;
};

/** The next event of the player or the speech. */
window.next = (target, type) =>
  new Promise((resolve) => target.addEventListener(type, ({ detail }) => resolve(detail), { once: true }));

/** What was heard, as 32-bit floats in base64. */
window.recorded = async () => {
  await new Promise((resolve) => setTimeout(resolve, 300)); // what is on its way from the taps
  const bytes = new Uint8Array(heard().buffer);
  let text = '';
  for (let n = 0; n < bytes.length; n += 8192) text += String.fromCharCode(...bytes.subarray(n, n + 8192));
  return btoa(text);
};

document.querySelector('#speak').onclick = () => {
  window.clicked = Date.now();
  window.spoken = window.speak(window.text ?? 'A click is a gesture.', { rung: window.rung });
};
document.querySelector('#unlock').onclick = () => window.player.unlock();
window.ready = true;
