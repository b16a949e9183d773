/**
 * Live tracks of one stream; each may own a decoder. A guess on the safe side: a server that
 * upgrades over 30 s in pieces of 1 s needs half as many.
 */
export const MAX_TRACKS: 64;
/**
 * One track: a contiguous run of frames, `start` to `next` (pts, exclusive). Its packets run from
 * `first` on, `duration` frames each; within its rank it wins over older ones from `at` on.
 */
export class HeldTrack {
    /**
     * @param {number} number
     * @param {number} rank
     * @param {number} start
     * @param {number} [preroll] frames before `start` that are decoded and never played.
     * @param {number} [duration] frames in one packet.
     */
    constructor(number: number, rank: number, start: number, preroll?: number, duration?: number);
    number: number;
    rank: number;
    start: number;
    preroll: number;
    duration: number;
    at: number;
    /** The pts of its first packet. */
    first: number;
    next: number;
    /**
     * Whether the frame at `pts` is here and may be played.
     *
     * @param {number} pts
     */
    holds(pts: number): boolean;
    /**
     * Whether both were opened with the same words: a track told twice is no fault.
     *
     * @param {HeldTrack} other
     */
    sameAs(other: HeldTrack): boolean;
}
/** All tracks of one stream. */
export class Held {
    /**
     * @param {number} level conformance. 0: a single track of rank 0, from pts 0, with at most one
     *   packet of pre-roll; 1 and above: two ranks, any number of tracks one after another.
     */
    constructor(level: number);
    /** The live tracks, oldest first. */
    get tracks(): HeldTrack[];
    /**
     * A track opens. The same words again change nothing.
     *
     * @param {HeldTrack} track
     * @throws {PlayoutError} `track_in_use`, `bad_track`, `beyond_level` or `too_many_tracks`.
     */
    open(track: HeldTrack): void;
    /**
     * `packets` consecutive packets arrive, the first at `pts`.
     *
     * @param {number} number
     * @param {number} pts
     * @param {number} packets
     * @returns {number} how many of them, from the first, are to be skipped: they were here before,
     *   or their track was played to its end and is gone.
     * @throws {PlayoutError} `unknown_track`, `bad_pts` or `gap`; nothing has changed.
     */
    hold(number: number, pts: number, packets: number): number;
    /**
     * Within its rank, track `number` wins from `at` on.
     *
     * @param {number} number
     * @param {number} at
     * @throws {PlayoutError} `unknown_track`.
     */
    switch(number: number, at: number): void;
    /**
     * The pts up to which frames are held without a hole from `pts` on, by any track (of `rank`).
     *
     * @param {number} pts
     * @param {number} [rank]
     */
    reach(pts: number, rank?: number): number;
    /**
     * Of the tracks of `rank` that hold the frames from `pts` to `until` (inclusive), the one whose
     * turn it is: the newest that wins by now, else the oldest.
     *
     * @param {number} rank
     * @param {number} pts
     * @param {number} until
     * @returns {HeldTrack | undefined}
     */
    inForce(rank: number, pts: number, until: number): HeldTrack | undefined;
    /**
     * Forget tracks that are passed and that a newer track of their rank has taken over from.
     *
     * @param {number} played
     */
    retire(played: number): void;
    #private;
}
