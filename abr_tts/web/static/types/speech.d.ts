/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./speaking.js').Report} Report */
export class Speech extends EventTarget {
    /**
     * @param {string} id
     * @param {(command: Command) => void} post
     */
    constructor(id: string, post: (command: Command) => void);
    /** The speech's UUID. */
    id: string;
    /** The report, when it was heard to its end or stopped; rejected with an `AbrError` where it failed. @type {Promise<Report>} */
    done: Promise<Report>;
    /** Whether it ended, in whatever way. */
    over: boolean;
    /**
     * More text, of a speech that was asked for with `open`.
     *
     * @param {string} text
     * @throws {TypeError} it is no string.
     */
    append(text: string): void;
    /** No more text comes. Twice is once. */
    end(): void;
    /** Sound fades out and stands; what is still to come goes on arriving. */
    pause(): void;
    /** On with the next sample. */
    resume(): void;
    /** Silence, at once; the next speech of the queue begins. */
    stop(): void;
    /**
     * The receive path tells something of this speech.
     *
     * @param {string} type
     * @param {any} detail
     * @internal
     */
    hear(type: string, detail: any): void;
    #private;
}
export type Command = import("./terms.js").Command;
export type Report = import("./speaking.js").Report;
