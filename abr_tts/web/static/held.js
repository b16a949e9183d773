/**
 * What a listener holds: tracks as ranges of pts, ordered by rank and by age.
 *
 * It books packets by number and position and refuses those that break the rules of tracks. It
 * must not know sound, time, or which frame plays next and why: that is `playout`.
 */

import { PlayoutError } from './errors.js';
import { FRAME_TICKS } from './units.js';

/**
 * Live tracks of one stream; each may own a decoder. A guess on the safe side: a server that
 * upgrades over 30 s in pieces of 1 s needs half as many.
 */
export const MAX_TRACKS = 64;

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
  constructor(number, rank, start, preroll = 0, duration = 1) {
    this.number = number;
    this.rank = rank;
    this.start = start;
    this.preroll = preroll;
    this.duration = duration;
    this.at = start;
    /** The pts of its first packet. */
    this.first = start - preroll * FRAME_TICKS;
    this.next = this.first;
  }

  /**
   * Whether the frame at `pts` is here and may be played.
   *
   * @param {number} pts
   */
  holds(pts) {
    return this.start <= pts && pts < this.next;
  }

  /**
   * Whether both were opened with the same words: a track told twice is no fault.
   *
   * @param {HeldTrack} other
   */
  sameAs(other) {
    return (
      this.rank === other.rank &&
      this.first === other.first &&
      this.start === other.start &&
      this.duration === other.duration
    );
  }
}

/** All tracks of one stream. */
export class Held {
  #level;
  /** @type {Map<number, HeldTrack>} */
  #tracks = new Map();
  /** @type {Set<number>} */
  #retired = new Set();
  #seen = false;

  /**
   * @param {number} level conformance. 0: a single track of rank 0, from pts 0, with at most one
   *   packet of pre-roll; 1 and above: two ranks, any number of tracks one after another.
   */
  constructor(level) {
    this.#level = level;
  }

  /** The live tracks, oldest first. */
  get tracks() {
    return [...this.#tracks.values()];
  }

  /**
   * A track opens. The same words again change nothing.
   *
   * @param {HeldTrack} track
   * @throws {PlayoutError} `track_in_use`, `bad_track`, `beyond_level` or `too_many_tracks`.
   */
  open(track) {
    const live = this.#tracks.get(track.number);
    if (live) {
      if (live.sameAs(track)) return;
      throw new PlayoutError(`track ${track.number} is open already, as another one`, 'track_in_use');
    }
    this.#check(track);
    this.#retired.delete(track.number);
    this.#tracks.set(track.number, track);
    this.#seen = true;
  }

  /** @param {HeldTrack} track */
  #check({ number, rank, start, preroll, duration }) {
    if (start % FRAME_TICKS || start < 0 || preroll < 0 || duration < 1 || (rank !== 0 && rank !== 1)) {
      throw new PlayoutError(
        `track ${number} cannot be: rank ${rank}, start ${start}, ${preroll}, ${duration}`,
        'bad_track',
      );
    }
    const simple = rank === 0 && start === 0 && preroll <= duration;
    if (this.#level === 0 && (this.#seen || !simple)) {
      throw new PlayoutError('a level 0 client plays one track, rank 0, from pts 0', 'beyond_level');
    }
    if (this.#tracks.size >= MAX_TRACKS)
      throw new PlayoutError(`more than ${MAX_TRACKS} live tracks`, 'too_many_tracks');
  }

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
  hold(number, pts, packets) {
    if (this.#retired.has(number)) return packets;
    const track = this.#find(number);
    const step = track.duration * FRAME_TICKS;
    if (pts < track.first || (pts - track.first) % step) {
      throw new PlayoutError(`track ${number} has no packet at pts ${pts}`, 'bad_pts');
    }
    if (pts > track.next)
      throw new PlayoutError(`track ${number} goes on at pts ${track.next}, not ${pts}`, 'gap');
    const skipped = Math.min(packets, (track.next - pts) / step);
    track.next += (packets - skipped) * step;
    return skipped;
  }

  /**
   * Within its rank, track `number` wins from `at` on.
   *
   * @param {number} number
   * @param {number} at
   * @throws {PlayoutError} `unknown_track`.
   */
  switch(number, at) {
    if (!this.#retired.has(number)) this.#find(number).at = at;
  }

  /** @param {number} number */
  #find(number) {
    const track = this.#tracks.get(number);
    if (!track) throw new PlayoutError(`no track ${number} was opened`, 'unknown_track');
    return track;
  }

  /**
   * The pts up to which frames are held without a hole from `pts` on, by any track (of `rank`).
   *
   * @param {number} pts
   * @param {number} [rank]
   */
  reach(pts, rank) {
    const tracks = this.tracks.filter((track) => rank === undefined || track.rank === rank);
    for (let reached = pts; ; pts = reached) {
      for (const track of tracks) if (track.holds(pts)) reached = Math.max(reached, track.next);
      if (reached === pts) return pts;
    }
  }

  /**
   * Of the tracks of `rank` that hold the frames from `pts` to `until` (inclusive), the one whose
   * turn it is: the newest that wins by now, else the oldest.
   *
   * @param {number} rank
   * @param {number} pts
   * @param {number} until
   * @returns {HeldTrack | undefined}
   */
  inForce(rank, pts, until) {
    const able = this.tracks.filter((track) => track.rank === rank && track.holds(pts) && track.holds(until));
    const due = able.filter(({ at }) => at <= pts);
    return due.length ? due[due.length - 1] : able[0];
  }

  /**
   * Forget tracks that are passed and that a newer track of their rank has taken over from.
   *
   * @param {number} played
   */
  retire(played) {
    /** @type {Set<number>} */
    const passedOn = new Set();
    for (const track of this.tracks.reverse()) {
      if (passedOn.has(track.rank) && track.next <= played) {
        this.#tracks.delete(track.number);
        this.#retired.add(track.number);
      }
      if (track.at + FRAME_TICKS <= played) passedOn.add(track.rank);
    }
  }
}
