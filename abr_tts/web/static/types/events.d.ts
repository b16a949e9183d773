/**
 * An event; what it says is in `detail`.
 *
 * @param {string} type
 * @param {unknown} [detail]
 * @returns {CustomEvent}
 */
export function happening(type: string, detail?: unknown): CustomEvent;
export const Target: typeof EventTarget;
