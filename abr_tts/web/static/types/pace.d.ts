export class Pace {
    /**
     * The server names a rate, the first or another; 0 stops everything until the next.
     *
     * @param {number} kbps
     * @param {number} now seconds, as everywhere below.
     */
    set(kbps: number, now: number): void;
    /**
     * Seconds until so many bytes may go; infinite where the rate is 0. A message that is larger than the
     * bucket goes when that is full.
     *
     * @param {number} size
     * @param {number} now
     */
    wait(size: number, now: number): number;
    /**
     * They went.
     *
     * @param {number} size
     * @param {number} now
     */
    sent(size: number, now: number): void;
    #private;
}
