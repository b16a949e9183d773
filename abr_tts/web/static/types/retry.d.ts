/**
 * Whether a client connects again after this close of the server's; 1006 where it gave up itself.
 *
 * @param {number} closeCode
 * @param {string | null} [code] of the `error` that came before, if one did.
 */
export function mayRetry(closeCode: number, code?: string | null): boolean;
/**
 * Seconds to wait before a retry. The first is immediate; a `welcome` sets the count back.
 *
 * @param {number} retries made since the last `welcome`.
 * @param {number} chance from 0 to 1.
 * @param {number | null} [retryAfter] seconds that the server told, at least.
 */
export function retryDelay(retries: number, chance: number, retryAfter?: number | null): number;
/** The longest wait, in seconds. */
export const LONGEST_S: 60;
