/**
 * Where the receive path runs: in a Worker, or on the page where there is none.
 *
 * Commands wait until it is known which, since a port can be given away once only.
 */

/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./terms.js').Tidings} Tidings */
/** @typedef {import('./speaker.js').Core} Core */
/** @typedef {import('./worker.js').Start} Start */

/**
 * @param {Start} start
 * @param {string | URL} url of the Worker's script.
 * @param {(tidings: Tidings) => void} tell
 * @returns {Core}
 */
export function workerCore(start, url, tell) {
  const queue = new Queue();
  try {
    const worker = new Worker(url, { type: 'module' });
    worker.onmessage = ({ data }) => {
      if (data !== 'ready') return tell(data);
      worker.onerror = ({ message }) => {
        const fault = { code: 'internal', message, scope: 'nothing', retryAfter: null };
        tell({ id: null, type: 'error', detail: fault });
      };
      worker.postMessage(start);
      queue.open((command, transfer) => worker.postMessage(command, transfer));
    };
    worker.onerror = (event) => {
      // No module Workers here, or the page's policy allows none.
      event.preventDefault();
      worker.terminate();
      queue.open(onPage(start, tell));
    };
  } catch {
    queue.open(onPage(start, tell));
  }
  return queue;
}

/**
 * @param {Start} start
 * @param {(tidings: Tidings) => void} tell
 * @param {import('./transport.js').Transport} [transport]
 * @returns {Core}
 */
export function pageCore(start, tell, transport) {
  const queue = new Queue();
  queue.open(onPage(start, tell, transport));
  return queue;
}

/**
 * @param {Start} start
 * @param {(tidings: Tidings) => void} tell
 * @param {import('./transport.js').Transport} [transport]
 * @returns {(command: Command) => void}
 */
function onPage(start, tell, transport) {
  const receiver = Promise.all([import('./receiver.js'), import('./place.js')]).then(
    ([{ Receiver }, { browserPlace }]) =>
      new Receiver(start.settings, browserPlace(start.wasm, transport), tell),
  );
  return (command) => void receiver.then((here) => here.do(command));
}

/** @implements {Core} */
class Queue {
  /** @type {[Command, any[]][]} */
  #waiting = [];
  /** @type {((command: Command, transfer: any[]) => void) | null} */
  #to = null;

  /** @param {(command: Command, transfer: any[]) => void} to */
  open(to) {
    this.#to = to;
    for (const [command, transfer] of this.#waiting.splice(0)) to(command, transfer);
  }

  /**
   * @param {Command} command
   * @param {any[]} [transfer]
   */
  post(command, transfer = []) {
    if (this.#to) this.#to(command, transfer);
    else this.#waiting.push([command, transfer]);
  }
}
