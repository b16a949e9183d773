/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./speaking.js').Report} Report */
export class Speech extends EventTarget {
    /**
     * @param {string} id
     * @param {(command: Command) => void} post
     * @param {string} [text] its beginning.
     */
    constructor(id: string, post: (command: Command) => void, text?: string);
    /** The speech's UUID. */
    id: string;
    /** The report, when it was heard to its end or stopped; rejected with an `AbrError` where it failed. @type {Promise<Report>} */
    done: Promise<Report>;
    /** Whether it ended, in whatever way. */
    over: boolean;
    /** Index of the text up to which it was heard, as far as is known here by now: see `heardText`. */
    heard: number;
    /**
     * More text, of a speech that was asked for with `open`.
     *
     * @param {string} text
     * @throws {TypeError} it is no string.
     */
    append(text: string): void;
    /** The text that was heard, for the history of a language model that was interrupted. */
    get heardText(): string;
    /** No more text comes. Twice is once. */
    end(): void;
    /** Sound fades out and stands; what is still to come goes on arriving. */
    pause(): void;
    /** On with the next sample. */
    resume(): void;
    /**
     * Silence, at once; the next speech of the queue begins.
     *
     * @returns {number} `heard`; the report tells it once more, to the sample.
     */
    stop(): number;
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
