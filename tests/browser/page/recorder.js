/** Tells all that comes in, and when the first sound came. */

class Recorder extends AudioWorkletProcessor {
  #heard = false;

  process([[input]]) {
    if (!input) return true;
    if (!this.#heard && input.some((sample) => sample)) {
      this.#heard = true;
      this.port.postMessage({ first: Date.now() });
    }
    this.port.postMessage(input);
    return true;
  }
}

registerProcessor('recorder', Recorder);
