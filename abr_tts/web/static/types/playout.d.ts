/** Contiguous sound needed before the first frame: 200 ms, rule 1 of the player. */
export const START_TICKS: 9600;
/** Contiguous sound needed to go on after a stall: 200 ms, rule 6. */
export const REBUFFER_TICKS: 9600;
/** Sound that a higher rank must hold before it is taken: ten frames, rule 3. */
export const UP_TICKS: 9600;
/**
 * One frame to put out, and how. `pts`: where it stands, a multiple of 960. `track`: whose frame
 * is heard (at the end of the fade). `fadeFrom`: the track that the frame fades from, over its
 * whole length; it holds `pts` too. `fadeIn`: the first 5 ms rise from silence. `fadeOut`: the
 * last 5 ms fall to silence.
 *
 * @typedef {{ pts: number, track: number, fadeFrom: number | null, fadeIn: boolean, fadeOut: boolean }} Frame
 */
/** The player's rules as one object: arrivals in, frames out. */
export class Playout {
    /**
     * @param {{ startTicks?: number, level?: number }} [settings] sound wanted before the first
     *   frame: less than 200 ms suits a proven link, 0 a reader without a clock, who calls `render`
     *   only while `canRender`; conformance level, see `Held`.
     */
    constructor({ startTicks, level }?: {
        startTicks?: number;
        level?: number;
    });
    /** The listener paused; the frame that fades out may be still to come. */
    paused: boolean;
    /** Times that the listener waited for sound in mid-speech. */
    stalls: number;
    /** Silence that `render` gave for those stalls. */
    stallTicks: number;
    /**
     * A track opens; its packets run from `start - 960·preroll` on, `duration` frames each.
     *
     * @param {number} track
     * @param {number} rank
     * @param {number} start
     * @param {number} [preroll]
     * @param {number} [duration]
     * @throws {PlayoutError} `track_in_use`, `bad_track`, `beyond_level` or `too_many_tracks`;
     *   nothing has changed.
     */
    open(track: number, rank: number, start: number, preroll?: number, duration?: number): void;
    /**
     * `packets` consecutive packets arrive, the first at `pts`.
     *
     * @param {number} track
     * @param {number} pts
     * @param {number} packets
     * @returns {number} how many of them, from the first, the caller skips: they were here before,
     *   or come for a track that is gone.
     * @throws {PlayoutError} `unknown_track`, `bad_pts` or `gap`; nothing has changed.
     */
    hold(track: number, pts: number, packets: number): number;
    /**
     * Within its rank `track` wins from `at` on (without this: from its start on). Retunes inside a
     * track (fades of length 0) are not told here.
     *
     * @param {number} track
     * @param {number} at
     * @throws {PlayoutError} `unknown_track`.
     */
    switch(track: number, at: number): void;
    /**
     * The true length is known; nothing new comes. The same length again is no fault.
     *
     * @param {number} ticks
     * @throws {PlayoutError} `end_changed`, and the first length stands.
     */
    end(ticks: number): void;
    /** The listener pauses: the next frame fades out, then the media clock stands. */
    pause(): void;
    /** The listener goes on. */
    resume(): void;
    /** Whether the first frame was put out. */
    get started(): boolean;
    /** Whether everything was put out. */
    get finished(): boolean;
    /** The true length in ticks, null while it is not known. */
    get endTicks(): number | null;
    /** Ticks put out so far; at the end, the true length. */
    get played(): number;
    /** Ticks held without a hole from `played` on, at any rank, not beyond the end. */
    get bufferTicks(): number;
    /** The numbers of the tracks that are not gone, oldest first. */
    get live(): number[];
    /**
     * Track and pts of the last frame that came, of each live track that has any packet.
     *
     * @returns {[number, number][]}
     */
    get highest(): [number, number][];
    /**
     * Track and pts of the next packet, of each live track: where a reconnect goes on.
     *
     * @returns {[number, number][]}
     */
    get wanted(): [number, number][];
    /**
     * Whether `render` would give a frame now that need not fade out for want of the next.
     *
     * On a single track, what such a frame will be depends on nothing that is still to come.
     */
    get canRender(): boolean;
    /**
     * The next frame; it is committed and never changes.
     *
     * @returns {Frame | null} null for 20 ms of silence: before the start, in a stall, in a pause,
     *   after the end.
     */
    render(): Frame | null;
    #private;
}
/**
 * One frame to put out, and how. `pts`: where it stands, a multiple of 960. `track`: whose frame
 * is heard (at the end of the fade). `fadeFrom`: the track that the frame fades from, over its
 * whole length; it holds `pts` too. `fadeIn`: the first 5 ms rise from silence. `fadeOut`: the
 * last 5 ms fall to silence.
 */
export type Frame = {
    pts: number;
    track: number;
    fadeFrom: number | null;
    fadeIn: boolean;
    fadeOut: boolean;
};
