/**
 * What a speech was like for its listener: a record, told at its end.
 */
/** What a speech was like for its listener; times count from the request; `heard`: it was `text.slice(0, heard)`. @typedef {{ voice: string, sampleRate: number, firstSoundMs: number | null, playedMs: number, heard: number, rungs: Record<string, number>, switches: number, stalls: number, stallMs: number, bytes: number, badPackets: number, complete: boolean, reason: 'done' | 'cancelled' | 'stopped' }} Report */
/** Of a speech of which nothing is known yet. @returns {Report} */
export function blank(): Report;
/**
 * What a speech was like for its listener; times count from the request; `heard`: it was `text.slice(0, heard)`.
 */
export type Report = {
    voice: string;
    sampleRate: number;
    firstSoundMs: number | null;
    playedMs: number;
    heard: number;
    rungs: Record<string, number>;
    switches: number;
    stalls: number;
    stallMs: number;
    bytes: number;
    badPackets: number;
    complete: boolean;
    reason: "done" | "cancelled" | "stopped";
};
