/** What an outlet tells the feeder: samples taken and samples of silence so far; times that blocks failed to come. @typedef {{ taken: number, idle: number, starved: number }} Told */
/** What a feeder tells an outlet. @typedef {{ block: Float32Array, rest: boolean } | { flush: true } | { hold: boolean } | { ask: true } | { stop: true }} Order */
export class Outlet {
    /** @param {number} rate Hz. */
    constructor(rate: number);
    /** Samples that went out, or were dropped by `flush`. */
    taken: number;
    /** Samples of silence that went out for want of others. */
    idle: number;
    /** Times that sound was cut short because the next block had not come. */
    starved: number;
    /** No more is to come: whoever calls `fill` may stop. */
    stopped: boolean;
    /** Samples that wait to go out. */
    get left(): number;
    /**
     * Do what the feeder says.
     *
     * @param {Order} order
     */
    obey(order: Order): void;
    /**
     * The next samples.
     *
     * @param {Float32Array} out is filled, with silence where there is nothing else.
     */
    fill(out: Float32Array): void;
    /** @returns {Told} */
    get told(): Told;
    /**
     * What to tell after a `fill`, if it is time: every `every` samples.
     *
     * @param {number} every
     * @returns {Told | null}
     */
    news(every: number): Told | null;
    #private;
}
/**
 * What an outlet tells the feeder: samples taken and samples of silence so far; times that blocks failed to come.
 */
export type Told = {
    taken: number;
    idle: number;
    starved: number;
};
/**
 * What a feeder tells an outlet.
 */
export type Order = {
    block: Float32Array;
    rest: boolean;
} | {
    flush: true;
} | {
    hold: boolean;
} | {
    ask: true;
} | {
    stop: true;
};
