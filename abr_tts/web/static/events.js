/**
 * Events of the platform, or of our own where it has none (mini-programs).
 */

/** Listeners by type: what is needed of an EventTarget. */
class OwnTarget {
  /** @type {Map<string, Set<(event: { type: string }) => void>>} */
  #listeners = new Map();

  /**
   * @param {string} type
   * @param {(event: any) => void} listener
   */
  addEventListener(type, listener) {
    const set = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, set.add(listener));
  }

  /**
   * @param {string} type
   * @param {(event: any) => void} listener
   */
  removeEventListener(type, listener) {
    this.#listeners.get(type)?.delete(listener);
  }

  /** @param {{ type: string }} event */
  dispatchEvent(event) {
    for (const listener of [...(this.#listeners.get(event.type) ?? [])]) listener(event);
    return true;
  }
}

export const Target = /** @type {typeof EventTarget} */ (
  typeof EventTarget === 'function' ? EventTarget : OwnTarget
);

/**
 * An event; what it says is in `detail`.
 *
 * @param {string} type
 * @param {unknown} [detail]
 * @returns {CustomEvent}
 */
export function happening(type, detail = {}) {
  return typeof CustomEvent === 'function'
    ? new CustomEvent(type, { detail })
    : /** @type {CustomEvent} */ ({ type, detail });
}
