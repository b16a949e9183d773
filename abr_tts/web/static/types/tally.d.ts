/**
 * What was heard: the time on each rung, and how often it changed.
 *
 * It must not know samples or why a rung was chosen.
 */
/** Follows the rung of each track from pts to pts, and counts what is played of it. */
export class RungTally {
    /** The rung heard last, null before the first. @type {string | null} */
    rung: string | null;
    /** Changes of the rung heard, whether by another track or by a retune. */
    switches: number;
    /** Ticks heard of each rung. @type {Map<string, number>} */
    ticks: Map<string, number>;
    /**
     * A track opens at `rung`.
     *
     * @param {number} track
     * @param {string} rung
     */
    open(track: number, rung: string): void;
    /**
     * From the packet at `at` on, the track is at `rung`; an unknown track is ignored.
     *
     * @param {number} track
     * @param {number} at
     * @param {string} rung
     */
    retune(track: number, at: number, rung: string): void;
    /**
     * Nothing more of this track will be heard.
     *
     * @param {number} track
     */
    forget(track: number): void;
    /**
     * `ticks` of the frame at `pts` were heard, from this track; pts grow.
     *
     * @param {number} track
     * @param {number} pts
     * @param {number} ticks
     */
    heard(track: number, pts: number, ticks: number): void;
    #private;
}
