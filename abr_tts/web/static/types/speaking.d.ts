export class Speaking {
    /**
     * @param {string} id the speech's UUID.
     * @param {Request} request
     * @param {{ opus: import('./decoding.js').Opus | null, rate: number, startTicks?: number, now(): number,
     *   tell(type: string, detail: Record<string, unknown>): void }} host
     */
    constructor(id: string, { clip, ...request }: Request, { opus, rate, startTicks, now, tell }: {
        opus: import("./decoding.js").Opus | null;
        rate: number;
        startTicks?: number;
        now(): number;
        tell(type: string, detail: Record<string, unknown>): void;
    });
    /** What the server is told. */
    asking: Asking | Sending;
    /** All of rank 0 is here, or no more will come. */
    received: boolean;
    /** Everything was heard, or nothing more will be. */
    over: boolean;
    /** Why it ended, if not well. @type {AbrError | null} */
    fault: AbrError | null;
    /** Ticks heard. */
    played: number;
    /** The server has no more of it, and another one has: to be asked for anew. */
    moved: boolean;
    /** The connection on which it was asked for last. @type {import('./pump.js').Pump | null} */
    pump: import("./pump.js").Pump | null;
    id: string;
    /** The messages that ask for it, or for the rest of it. */
    ask(): import("./messages.js").ClientMessage[];
    /**
     * Its server stops and has not begun with it: all of what that was asked is to be asked of another.
     *
     * @param {() => string} again gives a new UUID.
     */
    refusedHere(again: () => string): void;
    /**
     * The connection is lost.
     *
     * @param {() => string} again gives a new UUID.
     */
    disconnected(again: () => string): void;
    /**
     * A message of its stream.
     *
     * @param {ServerMessage} message
     * @param {number} size bytes.
     * @returns {ClientMessage[]} what is to be answered.
     */
    onMessage(message: ServerMessage, size: number): ClientMessage[];
    /**
     * It ends with this fault, once all that has come is heard; well, if nothing was left to say where it moved.
     *
     * @param {AbrError} fault
     */
    fail(fault: AbrError): void;
    /** Nothing more is given; what was given is held at the outlet. */
    pause(): void;
    resume(): void;
    /** Heard no more. */
    stop(): void;
    /** Free what it holds. */
    close(): void;
    /**
     * Give what there is room for.
     *
     * @param {Feeder} feeder
     * @returns {boolean} whether the next speech may follow: this one is given to its end.
     */
    feed(feeder: Feeder): boolean;
    /**
     * The outlet played silence while it was this one's turn.
     *
     * @param {number} samples
     * @param {Feeder} feeder
     */
    idle(samples: number, feeder: Feeder): void;
    /**
     * A block of it was heard.
     *
     * @param {Mark} mark
     */
    heard({ pts, end, rung }: Mark): void;
    /** @returns {import('./report.js').Position} */
    get position(): import("./report.js").Position;
    /** Index of the text up to which it was heard. */
    get textHeard(): number;
    /** @returns {Report} */
    get report(): Report;
    /** @returns {Figures} */
    get figures(): Figures;
    #private;
}
export type ServerMessage = import("./messages.js").ServerMessage;
export type ClientMessage = import("./messages.js").ClientMessage;
/**
 * What is to be said: a text, or with `clip` the sound of one, of so many Hz.
 */
export type Request = import("./asking.js").Request & {
    clip?: number;
};
/**
 * Of a block: whose it is, where it starts and ends in ticks, its rung.
 */
export type Mark = {
    speaking: Speaking;
    pts: number;
    end: number;
    rung: string | null;
};
export type Feeder = import("./feeder.js").Feeder<Mark>;
export type Figures = {
    rungSent: string | null;
    rungPlayed: string | null;
    bankMs: number;
    upgradeMs: number;
    playedMs: number;
    stalls: number;
    stallMs: number;
    state: "waiting" | "playing" | "stalled" | "paused";
};
export type Report = import("./account.js").Report;
import { Asking } from './asking.js';
import { Sending } from './sending.js';
import { AbrError } from './errors.js';
