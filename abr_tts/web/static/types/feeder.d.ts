/**
 * @template Mark what the caller wants to hear of a block that was heard.
 * @typedef {{ samples: Float32Array, rest: boolean, mark: Mark }} Block
 */
/** @template Mark */
export class Feeder<Mark> {
    /**
     * @param {{ onHeard(mark: Mark): void, onNews(idle: number): void, later(call: () => void, ms: number): unknown }} host
     *   `onHeard`: a block went out to its end; `onNews`: the outlet spoke, and there were `idle` samples
     *   of silence; `later`: setTimeout.
     */
    constructor({ onHeard, onNews, later }: {
        onHeard(mark: Mark): void;
        onNews(idle: number): void;
        later(call: () => void, ms: number): unknown;
    });
    /** Times that an outlet ran dry in mid-sound: this side was too slow. */
    starved: number;
    /** Hz of the outlet, which never changes while something waits. */
    rate: number;
    /** Samples given that are not heard. */
    get queued(): number;
    /** Whether nothing is on its way to the loudspeaker, not even the fade of what was dropped. */
    get quiet(): boolean;
    /** Whether more should be given. */
    get hungry(): boolean;
    /**
     * Samples go to this port from here on; those on their way to another one are sent again, from the
     * sample at which it stopped.
     *
     * @param {Port} port
     * @param {number} rate Hz.
     * @param {number} cushionMs what is to lie ready at the outlet: as much as its thread may be late.
     */
    attach(port: Port, rate: number, cushionMs: number): void;
    /**
     * Give a block.
     *
     * @param {Float32Array} samples
     * @param {boolean} rest silence may follow it.
     * @param {Mark} mark
     */
    push(samples: Float32Array, rest: boolean, mark: Mark): void;
    /**
     * Stand still, over a short fade, or go on with the next sample.
     *
     * @param {boolean} held
     */
    hold(held: boolean): void;
    /**
     * Drop what is not heard yet, over a short fade; a hold ends.
     *
     * @param {(mark: Mark) => boolean} [keeps] whose blocks come after the fade, untouched.
     */
    flush(keeps?: (mark: Mark) => boolean): void;
    /** The outlet ends. */
    close(): void;
    #private;
}
export type Told = import("./outlet.js").Told;
export type Order = import("./outlet.js").Order;
/**
 * What is used of a MessagePort.
 */
export type Port = {
    postMessage(order: Order): void;
    onmessage: ((event: {
        data: Told;
    }) => void) | null;
    close(): void;
};
export type Block<Mark> = {
    samples: Float32Array;
    rest: boolean;
    mark: Mark;
};
