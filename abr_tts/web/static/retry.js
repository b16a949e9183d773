/**
 * After which closes a client connects again, and how long it waits (SPEC.md, Reconnect and resume).
 *
 * Pure: chance is an argument, as a number from 0 to 1.
 */

/** Closes after which the same would not happen again: left, lost, a fault, a restart, full, no TLS. */
const AGAIN = [1001, 1005, 1006, 1011, 1012, 1013, 1015];

/** The longest wait, in seconds. */
export const LONGEST_S = 60;

/**
 * Whether a client connects again after this close of the server's; 1006 where it gave up itself.
 *
 * @param {number} closeCode
 * @param {string | null} [code] of the `error` that came before, if one did.
 */
export function mayRetry(closeCode, code = null) {
  return (
    AGAIN.includes(closeCode) || (closeCode === 1008 && (code === 'idle_timeout' || code === 'rate_limited'))
  );
}

/**
 * Seconds to wait before a retry. The first is immediate; a `welcome` sets the count back.
 *
 * @param {number} retries made since the last `welcome`.
 * @param {number} chance from 0 to 1.
 * @param {number | null} [retryAfter] seconds that the server told, at least.
 */
export function retryDelay(retries, chance, retryAfter = null) {
  const backoff = retries < 1 ? 0 : chance * Math.min(LONGEST_S, 2 ** (retries - 1));
  return Math.max(backoff, retryAfter ?? 0);
}
