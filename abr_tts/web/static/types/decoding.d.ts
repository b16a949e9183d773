export class TrackDecoder {
    /**
     * @param {Track} track how the track is coded and where it starts.
     * @param {Opus | null} opus only Opus tracks need it.
     * @param {number} outRate Hz of the frames that come out.
     * @throws {PlayoutError} `bad_format`: a codec, rate or channel count that cannot be played;
     *   `too_many_tracks`: there is no Opus decoder left.
     */
    constructor(track: Track, opus: Opus | null, outRate: number);
    /** Packets that could not be decoded, or were not as long as they should be. */
    badPackets: number;
    /**
     * The track's next packets, contiguous with those before.
     *
     * @param {Uint8Array[]} packets
     */
    push(packets: Uint8Array[]): void;
    /**
     * Decode what is here up to the frame at `pts`; forget frames more than two before it.
     *
     * @param {number} pts
     */
    advance(pts: number): void;
    /**
     * The frame at `pts` at the output rate; calls must ask for growing pts.
     *
     * With `last`, silence follows it, whatever was sent, as it precedes pts 0. Elsewhere the
     * frame's mirror image stands for a neighbour that is not here: silence would ring where two
     * tracks fade.
     *
     * @param {number} pts
     * @param {boolean} last
     * @returns {Float32Array} not to be changed.
     * @throws {Error} its packet is not here, or is gone.
     */
    frame(pts: number, last: boolean): Float32Array;
    /** Free the decoder. */
    close(): void;
    /** Packets that are not decoded yet. */
    get heldPackets(): number;
    #private;
}
/**
 * What is needed of an Opus decoder, 48 kHz, mono. `decode` may give a view that its next call
 * overwrites, and throws where the packet is none.
 */
export type OpusDecoder = {
    decode(packet: Uint8Array): Float32Array;
    free(): void;
};
/**
 * What makes fresh Opus decoders; it throws when it has none left.
 */
export type Opus = {
    decoder(): OpusDecoder;
};
export type Track = import("./messages.js").Track;
