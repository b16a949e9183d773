/** A clause: where it begins to sound, in ticks, and that it is `text.slice(from, to)`. @typedef {{ pts: number, from: number, to: number }} Clause */
export class HeardText {
    /**
     * A clause begins; they come in their order.
     *
     * @param {{ pts: number, begin: number, end: number }} mark in code points.
     * @param {string} text so far, that clause within it.
     * @returns {Clause}
     */
    mark({ pts, begin, end }: {
        pts: number;
        begin: number;
        end: number;
    }, text: string): Clause;
    /** @param {number} ticks how long the speech is, or what one server speaks of it. */
    end(ticks: number): void;
    /**
     * The index up to which the text was heard.
     *
     * @param {number} played ticks heard.
     * @param {number} reach ticks that are known to be speech: the clause at hand is not shorter.
     * @param {string} text
     */
    at(played: number, reach: number, text: string): number;
    #private;
}
/**
 * A clause: where it begins to sound, in ticks, and that it is `text.slice(from, to)`.
 */
export type Clause = {
    pts: number;
    from: number;
    to: number;
};
