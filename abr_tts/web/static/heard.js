/**
 * Which part of a text was heard: from marks and ticks played to an index of the string.
 *
 * Clauses that sounded to their end count whole; inside one the position is estimated from the share of
 * its time that has passed, and rounded down to the start of a word. The same rules as the Python
 * client's `heard.py`. Marks count code points, as the wire does; what is given out are indexes of the
 * string, as `slice` takes them.
 */

/** Ticks that a letter takes, until a clause of this speech has told: 14 letters a second. */
const LETTER_TICKS = Math.floor(48_000 / 14);

/** Letters that last as long as one Han, kana or Hangul character. */
const WIDE_LETTERS = 4;

/** Code points of those, roughly: the blocks of Unicode. */
const WIDE = [
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0x20000, 0x3ffff],
];

/** A clause: where it begins to sound, in ticks, and that it is `text.slice(from, to)`. @typedef {{ pts: number, from: number, to: number }} Clause */

export class HeardText {
  /** @type {Clause[]} */
  #clauses = [];
  /** @type {number | null} */
  #end = null;
  /** A place in the text in code points, and as an index; places are asked for in their order. */
  #place = [0, 0];

  /**
   * A clause begins; they come in their order.
   *
   * @param {{ pts: number, begin: number, end: number }} mark in code points.
   * @param {string} text so far, that clause within it.
   * @returns {Clause}
   */
  mark({ pts, begin, end }, text) {
    const clause = { pts, from: this.#index(begin, text), to: this.#index(end, text) };
    const last = this.#clauses.at(-1);
    const again = last && last.pts === pts && last.from === clause.from && last.to === clause.to;
    if (!again) this.#clauses.push(clause);
    return clause;
  }

  /** @param {number} ticks how long the speech is, or what one server speaks of it. */
  end(ticks) {
    this.#end = ticks;
  }

  /**
   * The index up to which the text was heard.
   *
   * @param {number} played ticks heard.
   * @param {number} reach ticks that are known to be speech: the clause at hand is not shorter.
   * @param {string} text
   */
  at(played, reach, text) {
    let index = this.#clauses.length - 1;
    while (index >= 0 && this.#clauses[index].pts >= played) index--;
    if (index < 0) return 0;
    const { pts, from, to } = this.#clauses[index];
    const end = this.#end !== null && this.#end > pts ? this.#end : null;
    let until = this.#clauses[index + 1]?.pts ?? end;
    if (until !== null && played >= until) return to;
    const chars = [...text.slice(from, to)];
    until ??= Math.max(reach, pts + Math.round(lettersOf(chars) * this.#pace(index, text)));
    return from + wholeWords(chars, (played - pts) / (until - pts));
  }

  /** Ticks a letter took in the clauses before this one. @param {number} index @param {string} text */
  #pace(index, text) {
    const [first] = this.#clauses;
    const { pts, from } = this.#clauses[index];
    const letters = lettersOf([...text.slice(first.from, from)]);
    return pts > first.pts && letters ? (pts - first.pts) / letters : LETTER_TICKS;
  }

  /** Of a place in code points. @param {number} count @param {string} text */
  #index(count, text) {
    let [at, index] = count < this.#place[0] ? [0, 0] : this.#place;
    for (; at < count && index < text.length; at++)
      index += /** @type {number} */ (text.codePointAt(index)) > 0xffff ? 2 : 1;
    this.#place = [at, index];
    return index;
  }
}

/**
 * Length of what lies within `share` of the clause's length, less a word that has only begun.
 *
 * @param {string[]} chars
 * @param {number} share
 */
function wholeWords(chars, share) {
  let left = share * lettersOf(chars);
  let count = 0;
  while (count < chars.length - 1 && letters(chars[count]) <= left) left -= letters(chars[count++]);
  while (count > 0 && inside(chars[count - 1], chars[count])) count--;
  return chars.slice(0, count).join('').length;
}

/** Whether no word begins between these two. @param {string} before @param {string} after */
function inside(before, after) {
  return !(/\s/.test(before) || /\s/.test(after) || letters(before) > 1 || letters(after) > 1);
}

/** @param {string} char */
function letters(char) {
  const code = /** @type {number} */ (char.codePointAt(0));
  return WIDE.some(([low, high]) => code >= low && code <= high) ? WIDE_LETTERS : 1;
}

/** @param {string[]} chars */
function lettersOf(chars) {
  return chars.reduce((sum, char) => sum + letters(char), 0);
}
