/** @typedef {import('./messages.js').StreamRef} StreamRef */
/**
 * @typedef {import('./messages.js').StreamStart | import('./messages.js').Attach
 *   | import('./messages.js').AudioStart} Start
 */
/** @typedef {{ type: string, stream: StreamRef, text?: string }} Ask */
/** Of `clip` sound may be sent, of `open` text. @typedef {'open' | 'clip' | 'complete' | 'cancelled' | 'draining' | 'moved' | 'gone'} State */
/** Pass it on; it changes nothing; text after the end; sound for a stream that takes none. @typedef {'pass' | 'ignore' | 'late' | 'stray'} Verdict */
/** @typedef {'text' | 'text_end' | 'cancel' | 'audio' | 'other'} Signal */
/**
 * One stream. `worded`: some of its text was more than white space, or it takes sound.
 *
 * @typedef {{ id: string, state: State, handle: number | null, worded: boolean }} Stream
 */
/**
 * State, signal: next state and verdict (SPEC.md, The life of a stream).
 *
 * @type {Record<Exclude<State, 'gone'>, Record<Signal, [State, Verdict]>>}
 */
export const NEXT: Record<Exclude<State, "gone">, Record<Signal, [State, Verdict]>>;
export class Streams {
    /** Streams that count against the limit: all but the draining ones. */
    get active(): number;
    /**
     * The stream with this handle or id, if it lives.
     *
     * @param {StreamRef | null} ref
     */
    get(ref: StreamRef | null): Stream | undefined;
    /**
     * Whether this named a stream that is gone.
     *
     * @param {StreamRef} ref
     */
    was(ref: StreamRef): boolean;
    /**
     * A stream is asked for.
     *
     * @param {Start} message
     * @throws {AbrError} `duplicate_stream`, `too_many_streams`, `empty_text`: what the server would answer.
     */
    start(message: Start): void;
    /**
     * Something is asked of a stream. False: it changes nothing, or the stream is over.
     *
     * @param {Ask} message
     * @throws {AbrError} `text_after_end`, `empty_text`, `bad_audio`: what the server would answer; nothing
     *   has changed.
     */
    ask(message: Ask): boolean;
    /**
     * Take the handle that the server gave. False: no stream of ours.
     *
     * @param {string} id
     * @param {number} handle
     */
    bind(id: string, handle: number): boolean;
    /**
     * `stream_end` passed: the listener plays on, unless it was the listener who ended it.
     *
     * @param {Stream} stream
     * @param {string} reason
     */
    end(stream: Stream, reason: string): void;
    /**
     * The stream is over. One that never had a handle was refused: its id may come again.
     *
     * @param {Stream} stream
     */
    drop(stream: Stream): void;
    #private;
}
export type StreamRef = import("./messages.js").StreamRef;
export type Start = import("./messages.js").StreamStart | import("./messages.js").Attach | import("./messages.js").AudioStart;
export type Ask = {
    type: string;
    stream: StreamRef;
    text?: string;
};
/**
 * Of `clip` sound may be sent, of `open` text.
 */
export type State = "open" | "clip" | "complete" | "cancelled" | "draining" | "moved" | "gone";
/**
 * Pass it on; it changes nothing; text after the end; sound for a stream that takes none.
 */
export type Verdict = "pass" | "ignore" | "late" | "stray";
export type Signal = "text" | "text_end" | "cancel" | "audio" | "other";
/**
 * One stream. `worded`: some of its text was more than white space, or it takes sound.
 */
export type Stream = {
    id: string;
    state: State;
    handle: number | null;
    worded: boolean;
};
