/** Readers by who sends, then by kind. @type {Record<string, Record<number, (values: any[]) => Fields>>} */
export const READ: Record<string, Record<number, (values: any[]) => Fields>>;
/**
 * Writers by type: the array of a message, or `bad_field`.
 *
 * @type {Record<string, (message: Fields) => unknown[]>}
 */
export const WRITE: Record<string, (message: Fields) => unknown[]>;
export type Fields = Record<string, any>;
