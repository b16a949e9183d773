/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./terms.js').Tidings} Tidings */
/** @typedef {import('./terms.js').Settings} Settings */
/** What is asked for beside the text; `instruct`: how to speak, in words. @typedef {{ voice?: string, language?: string, speed?: number, policy?: string, rung?: string, open?: boolean, instruct?: string }} Wishes */
/** What is asked for beside the sound. @typedef {{ voice?: string, speed?: number, policy?: string, rung?: string }} ConvertWishes */
/** `consent`: the speaker agrees to be cloned; `text`: what is said, word for word. @typedef {{ consent: boolean, text?: string, language?: string }} VoiceFacts */
/** Mono, full scale at ±1: all of it, or pieces as they come, such as from a worklet. @typedef {Float32Array | AsyncIterable<Float32Array>} Sound */
/** Where samples come out: a port that obeys `outlet.Order`s, its rate, and how late its thread may be. @typedef {{ port: import('./feeder.js').Port, rate: number, cushionMs: number }} Opened */
/**
 * A loudspeaker. `rate` is known at once. `open` makes an outlet, `release` lets it go; `onlock` tells that
 * sound waits for a gesture, or no longer does; `onport` that an outlet died and here is another.
 *
 * @typedef {{ readonly rate: number, open(): Promise<Opened>, release(): void, unlock(): Promise<void>, close(): void,
 *   onlock: (locked: boolean) => void, onport: (opened: Opened) => void }} Sink
 */
/** The receive path, wherever it runs; `transfer` goes to its thread. @typedef {{ post(command: Command, transfer?: any[]): void }} Core */
export class Speaker extends EventTarget {
    /**
     * @param {{ sink: Sink, core: (tell: (tidings: Tidings) => void) => Core, uuid: () => string, policy?: string }} parts
     *   `policy`: the server's policy by name, for every speech that names none.
     */
    constructor({ sink, core, uuid, policy }: {
        sink: Sink;
        core: (tell: (tidings: Tidings) => void) => Core;
        uuid: () => string;
        policy?: string;
    });
    /** Let sound out; to be called in a gesture of the user. A `speak` in a gesture does it by itself. */
    unlock(): Promise<void>;
    /** Connect before there is anything to say, so that the first speech need not wait for it. */
    connect(): void;
    /**
     * Speak. Several are spoken one after another.
     *
     * @param {string} text
     * @param {Wishes} [wishes] `open`: more text follows, by `append`, until `end`.
     * @throws {TypeError} the text is no string.
     * @throws {RangeError} the loudspeaker's rate has no whole frames of 20 ms.
     * @throws {Error} the player was closed, or there is no loudspeaker.
     */
    speak(text: string, wishes?: Wishes): Speech;
    /**
     * Say what is said in a clip of up to 30 s in another voice, in its turn.
     *
     * @param {Sound} samples
     * @param {number} rate Hz of the samples, a multiple of 50.
     * @param {ConvertWishes} [wishes]
     * @throws {RangeError} the rate has no whole frames of 20 ms.
     * @throws {Error} as `speak`.
     */
    convert(samples: Sound, rate: number, wishes?: ConvertWishes): Speech;
    /**
     * Make a voice of a clip of 1 to 30 s (3 to 10 are best); it can be named as `voice` from then on.
     *
     * @param {string} name 1 to 48 letters, digits, - and _; not that of another voice.
     * @param {Sound} samples
     * @param {number} rate Hz of the samples, a multiple of 50.
     * @param {VoiceFacts} facts
     * @returns {Promise<number>} seconds of sound that the server keeps; rejected with an `AbrError` where it
     *   refuses, or with what the samples threw.
     */
    addVoice(name: string, samples: Sound, rate: number, { consent, text, language }: VoiceFacts): Promise<number>;
    /** The speeches that are not over, in their order. */
    get speeches(): Speech[];
    /** Stop, say goodbye and let the loudspeaker go. */
    close(): void;
    #private;
}
export type Command = import("./terms.js").Command;
export type Tidings = import("./terms.js").Tidings;
export type Settings = import("./terms.js").Settings;
/**
 * What is asked for beside the text; `instruct`: how to speak, in words.
 */
export type Wishes = {
    voice?: string;
    language?: string;
    speed?: number;
    policy?: string;
    rung?: string;
    open?: boolean;
    instruct?: string;
};
/**
 * What is asked for beside the sound.
 */
export type ConvertWishes = {
    voice?: string;
    speed?: number;
    policy?: string;
    rung?: string;
};
/**
 * `consent`: the speaker agrees to be cloned; `text`: what is said, word for word.
 */
export type VoiceFacts = {
    consent: boolean;
    text?: string;
    language?: string;
};
/**
 * Mono, full scale at ±1: all of it, or pieces as they come, such as from a worklet.
 */
export type Sound = Float32Array | AsyncIterable<Float32Array>;
/**
 * Where samples come out: a port that obeys `outlet.Order`s, its rate, and how late its thread may be.
 */
export type Opened = {
    port: import("./feeder.js").Port;
    rate: number;
    cushionMs: number;
};
/**
 * A loudspeaker. `rate` is known at once. `open` makes an outlet, `release` lets it go; `onlock` tells that
 * sound waits for a gesture, or no longer does; `onport` that an outlet died and here is another.
 */
export type Sink = {
    readonly rate: number;
    open(): Promise<Opened>;
    release(): void;
    unlock(): Promise<void>;
    close(): void;
    onlock: (locked: boolean) => void;
    onport: (opened: Opened) => void;
};
/**
 * The receive path, wherever it runs; `transfer` goes to its thread.
 */
export type Core = {
    post(command: Command, transfer?: any[]): void;
};
import { Speech } from './speech.js';
