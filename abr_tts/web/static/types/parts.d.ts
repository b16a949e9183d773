/** @typedef {import('./listener.js').Meters} Meters */
/** @typedef {import('./report.js').Position} Position */
export class Parts {
    /** @param {ConstructorParameters<typeof Listener>[0]} settings */
    constructor(settings: ConstructorParameters<typeof Listener>[0]);
    /** The last frame that was given, at its place in the whole. @type {import('./playout.js').Frame | null} */
    frame: import("./playout.js").Frame | null;
    /** Ticks of the speech before the part that is received. */
    get begins(): number;
    /** @param {import('./messages.js').ServerMessage} message of the part that is received. */
    onMessage(message: import("./messages.js").ServerMessage): void;
    /** The part that was received has its end; what comes now is the next. */
    grow(): void;
    get wanted(): [number, number][];
    get endTicks(): number | null;
    /**
     * What a report on the part that is received says.
     *
     * @param {number} heard ticks of the speech that were heard.
     * @param {boolean} inFlight given and not heard.
     * @returns {Position}
     */
    position(heard: number, inFlight: boolean): Position;
    /** As of `Listener`. */
    render(): Float32Array<ArrayBufferLike> | null;
    pause(): void;
    resume(): void;
    close(): void;
    get canRender(): boolean;
    get started(): boolean;
    get finished(): boolean;
    get paused(): boolean;
    /** Ticks of the whole that were given. */
    get played(): number;
    /** Held beyond that, of all parts. */
    get bufferMs(): number;
    /** Track and pts of the last frame held, of the part that is received. */
    get highest(): [number, number][];
    /** @returns {Meters} of the whole. */
    get meters(): Meters;
    #private;
}
export type Meters = import("./listener.js").Meters;
export type Position = import("./report.js").Position;
import { Listener } from './listener.js';
