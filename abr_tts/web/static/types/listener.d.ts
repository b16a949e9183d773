/** @typedef {import('./playout.js').Frame} Frame */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/**
 * What a stream's listener knows of itself, for people and for tests: `rung` of the last frame
 * given; `seconds` heard of each rung; `switches` of the rung heard, retunes among them; waits in
 * mid-speech; what is held; packets that are here and not decoded, and that could not be.
 *
 * @typedef {{ rung: string | null, seconds: Record<string, number>, switches: number, stalls: number,
 *   stallMs: number, playedMs: number, bufferMs: number, heldPackets: number, badPackets: number }} Meters
 */
export class Listener {
    /**
     * @param {{ opus?: import('./decoding.js').Opus | null, outRate?: number | null, level?: number,
     *   startTicks?: number }} [settings] what makes Opus decoders (without it PCM alone is played);
     *   Hz of what `render` gives (null: the engine's rate, as `stream_started` says); conformance
     *   level, 0 (one track) or 1; sound wanted before the first frame, see `Playout`.
     * @throws {RangeError} an output rate that does not divide into 20 ms frames.
     */
    constructor({ opus, outRate, level, startTicks }?: {
        opus?: import("./decoding.js").Opus | null;
        outRate?: number | null;
        level?: number;
        startTicks?: number;
    });
    /** The last frame that was given: where it stands, its track, its fades. @type {Frame | null} */
    frame: Frame | null;
    /**
     * The stream's next message. What does not concern sound (marks, errors) is ignored.
     *
     * @param {ServerMessage} message
     * @throws {PlayoutError} it breaks the rules of tracks, or cannot be played. It was ignored; the
     *   listener can go on.
     */
    onMessage(message: ServerMessage): void;
    /** The listener pauses: the next frame fades out, then `render` gives null. */
    pause(): void;
    /** The listener goes on, with the sample after the last. */
    resume(): void;
    /** Free every decoder; nothing may be asked for afterwards but what may be seen. */
    close(): void;
    /**
     * The next 20 ms.
     *
     * @returns {Float32Array | null} outRate ÷ 50 samples, the caller's own; the last frame is
     *   shorter (it may be empty), so that the whole is round(length · outRate ÷ sample_rate)
     *   samples. null for 20 ms of silence: before the start, in a stall, in a pause, after the end.
     */
    render(): Float32Array | null;
    /** Hz of what `render` gives; null while it is to be the engine's and that is not known. */
    get outRate(): number | null;
    /**
     * Whether `render` would give a frame now that need not fade out for want of the next. A reader
     * who renders only then never stalls, and under a fixed rung hears the same samples however the
     * messages were grouped.
     */
    get canRender(): boolean;
    /** Whether the first frame was rendered. */
    get started(): boolean;
    /** Whether everything was rendered. */
    get finished(): boolean;
    /** Whether the listener paused. */
    get paused(): boolean;
    /** Ticks rendered so far. */
    get played(): number;
    /** The true length in ticks, null while it is not known. */
    get endTicks(): number | null;
    /** Milliseconds held without a hole beyond `played`, at any rank. */
    get bufferMs(): number;
    /** Track and pts of the next packet of each live track, for `attach.tracks`. */
    get wanted(): [number, number][];
    /** @returns {import('./report.js').Position} what a report says of this stream. */
    get position(): import("./report.js").Position;
    /** @returns {Meters} */
    get meters(): Meters;
    #private;
}
export type Frame = import("./playout.js").Frame;
export type ServerMessage = import("./messages.js").ServerMessage;
/**
 * What a stream's listener knows of itself, for people and for tests: `rung` of the last frame
 * given; `seconds` heard of each rung; `switches` of the rung heard, retunes among them; waits in
 * mid-speech; what is held; packets that are here and not decoded, and that could not be.
 */
export type Meters = {
    rung: string | null;
    seconds: Record<string, number>;
    switches: number;
    stalls: number;
    stallMs: number;
    playedMs: number;
    bufferMs: number;
    heldPackets: number;
    badPackets: number;
};
