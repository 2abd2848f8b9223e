import { compareBytes, type Digest } from '#bundles/digest';
import type { Slot } from './slots.ts';

/** A patch costs minutes where a blob is large: few are tried. */
const CANDIDATES = 2;

/**
 * Which old blobs a new one may be made of: those in the same slot, then those of the same group, nearest in size first.
 * @param allowed whether everybody who will read the new blob has the old one
 */
export const pairBlobs = (
  fresh: readonly Slot[],
  old: readonly Slot[],
  allowed: (old: Digest) => boolean,
): readonly Digest[] => {
  const slots = new Set(fresh.map(({ slot }) => slot));
  const groups = new Set(fresh.map(({ group }) => group));
  const size = fresh[0]?.size ?? 0;
  const distance = (one: Slot): number => (slots.has(one.slot) ? -1 : Math.abs(one.size - size));
  const known = old
    .filter((one) => groups.has(one.group) && allowed(one.digest))
    .toSorted((a, b) => distance(a) - distance(b) || compareBytes(a.digest, b.digest));
  return [...new Set(known.map(({ digest }) => digest))].slice(0, CANDIDATES);
};
