/**
 * Interarrival jitter of RFC 3550 section 6.4.1, with pts as the sender's timestamp, over messages
 * of one track. Speech sent ahead of real time has a large one by design, so this tells of the
 * link only while a sender keeps near real time.
 */
export class Jitter {
    /** Milliseconds, -1 before two messages of one track have arrived. */
    get ms(): number;
    /**
     * A message of `track` arrived whose first packet lies at `ptsSeconds` of media.
     *
     * @param {number} track
     * @param {number} ptsSeconds
     * @param {number} now seconds.
     */
    arrived(track: number, ptsSeconds: number, now: number): void;
    #private;
}
/**
 * Bytes a second over the last second: a lower bound of what the link carries, for a sender that
 * has nothing to send looks like a slow link.
 */
export class Goodput {
    /**
     * `size` bytes arrived.
     *
     * @param {number} size
     * @param {number} now seconds.
     */
    add(size: number, now: number): void;
    /**
     * Bytes a second, -1 when nothing arrived within the window.
     *
     * @param {number} now seconds.
     */
    rate(now: number): number;
    #private;
}
