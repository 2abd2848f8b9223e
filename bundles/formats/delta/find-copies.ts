import { stepsOf } from './limits.ts';

/** A literal run of the new content, then a copied run of the old content. */
export type Step = {
  /** Offset of the literal run in the new content. */
  readonly at: number;
  readonly literal: number;
  readonly copied: number;
  /** Offset of the copied run in the old content. */
  readonly from: number;
};

/** The index has every 32nd offset of the old content, by the hash of the next 32 bytes: shorter copies cost more than they save. */
const BLOCK = 32;
/** Equal bytes that continue a copy at the same distance, as after an edit that replaces bytes without changing the length. */
const ALIKE = 8;
const PRIME = 0x01000193;
const SPREAD = 0x9e3779b1;

/**
 * Finds the copies that make the new content of the old: greedy, in one pass, with a rolling hash over blocks of the old content.
 * Takes 4 bytes of memory for each 16 of the old content. Deterministic.
 */
export const findCopies = (old: Uint8Array, fresh: Uint8Array): readonly Step[] => {
  const index = indexBlocks(old);
  const steps: Step[] = [];
  let literal = 0;
  /** Old offset minus new offset of the last copy: the next one is tried there first. */
  let shift = 0;
  const most = stepsOf(fresh.length);
  while (steps.length < most) {
    const at = nextPlace(index, old, fresh, literal, shift);
    if (at === fresh.length) break;
    const from = alike(old, at + shift, fresh, at)
      ? at + shift
      : blockAt(index, hashBlock(fresh, at)) * BLOCK;
    const before = lengthBefore(old, from, fresh, at, literal);
    const after = lengthOf(old, from, fresh, at);
    steps.push({ at: literal, literal: at - before - literal, copied: before + after, from: from - before });
    shift = from - at;
    literal = at + after;
  }
  if (literal < fresh.length)
    steps.push({ at: literal, literal: fresh.length - literal, copied: 0, from: 0 });
  return steps;
};

/** `filter` is a bit set of the hashes in the table. It fits the processor's cache and answers for most offsets. */
type Index = {
  readonly table: Int32Array;
  readonly mask: number;
  readonly filter: Int32Array;
  readonly shift: number;
};

/** Next offset of the new content that continues the last copy or begins an indexed block; its length when there is none. */
const nextPlace = (
  index: Index,
  old: Uint8Array,
  fresh: Uint8Array,
  start: number,
  shift: number,
): number => {
  const { table, mask, filter, shift: bits } = index;
  const last = fresh.length - BLOCK;
  let hash = start <= last ? hashBlock(fresh, start) : 0;
  for (let at = start; at < fresh.length; at += 1) {
    if (alike(old, at + shift, fresh, at)) return at;
    if (at > last) continue;
    if (at > start) hash = roll(hash, fresh, at);
    const bit = Math.imul(hash, SPREAD) >>> bits;
    if (((filter[bit >>> 5] as number) & (1 << (bit & 31))) === 0) continue;
    const found = (table[slotOf(hash, mask)] ?? 0) - 1;
    if (found >= 0 && lengthOf(old, found * BLOCK, fresh, at) >= BLOCK) return at;
  }
  return fresh.length;
};

const blockAt = ({ table, mask }: Index, hash: number): number => (table[slotOf(hash, mask)] ?? 0) - 1;

const indexBlocks = (old: Uint8Array): Index => {
  const blocks = Math.floor(old.length / BLOCK);
  const size = 2 ** Math.max(4, Math.ceil(Math.log2(Math.max(1, blocks * 2))));
  const table = new Int32Array(size);
  const shift = 32 - Math.log2(size) - 2;
  const filter = new Int32Array(size / 8);
  for (let block = 0; block < blocks; block += 1) {
    const hash = hashBlock(old, block * BLOCK);
    const slot = slotOf(hash, size - 1);
    const bit = Math.imul(hash, SPREAD) >>> shift;
    filter[bit >>> 5] = (filter[bit >>> 5] as number) | (1 << (bit & 31));
    if (table[slot] === 0) table[slot] = block + 1;
  }
  return { table, mask: size - 1, filter, shift };
};

const OUTGOING = (() => {
  let power = 1;
  for (let count = 1; count < BLOCK; count += 1) power = Math.imul(power, PRIME);
  return power;
})();

const hashBlock = (bytes: Uint8Array, at: number): number => {
  let hash = 0;
  for (let index = at; index < at + BLOCK; index += 1)
    hash = (Math.imul(hash, PRIME) + (bytes[index] as number)) | 0;
  return hash;
};

/** Hash of the block at `at`, from the hash of the block at `at - 1`. */
const roll = (hash: number, bytes: Uint8Array, at: number): number => {
  const without = (hash - Math.imul(bytes[at - 1] as number, OUTGOING)) | 0;
  return (Math.imul(without, PRIME) + (bytes[at + BLOCK - 1] as number)) | 0;
};

/** Mixes the hash: its low bits depend little on the first bytes of the block. */
const slotOf = (hash: number, mask: number): number =>
  (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 4) & mask;

const alike = (old: Uint8Array, from: number, fresh: Uint8Array, at: number): boolean => {
  if (from < 0 || from + ALIKE > old.length || at + ALIKE > fresh.length) return false;
  for (let index = 0; index < ALIKE; index += 1) if (old[from + index] !== fresh[at + index]) return false;
  return true;
};

const lengthOf = (old: Uint8Array, from: number, fresh: Uint8Array, at: number): number => {
  const most = Math.min(old.length - from, fresh.length - at);
  let length = 0;
  while (length < most && old[from + length] === fresh[at + length]) length += 1;
  return length;
};

/** Length of the match before both offsets, not below `floor` in the new content. */
const lengthBefore = (
  old: Uint8Array,
  from: number,
  fresh: Uint8Array,
  at: number,
  floor: number,
): number => {
  const most = Math.min(from, at - floor);
  let length = 0;
  while (length < most && old[from - length - 1] === fresh[at - length - 1]) length += 1;
  return length;
};
