/** @typedef {import('./checks.js').Check} Check */
/** The last media position of a stream: 24.8 hours. */
export const LAST_TICK: number;
/** Pre-roll frames of a track at most: 60 ms. */
export const PREROLL_MOST: 3;
/** @type {Record<string, Form>} */
export const FORMS: Record<string, Form>;
export type Check = import("./checks.js").Check;
/**
 * One field: its name, its check, and what stands for it where it is absent; without that it is
 * required.
 */
export type Field = {
    name: string;
    check: Check;
    missing?: () => unknown;
};
export type Form = {
    sides: string;
    fields: Field[];
};
