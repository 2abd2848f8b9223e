import { BLOCK, paddingOf } from '#bundles/formats/archive/tar-header';
import { compareBytes } from '#bundles/digest';

/** A blob or a piece of one, and the room that there is for it. */
export type Item = { readonly path: string; readonly size: number };

export type PackingLimits = {
  /** Most bytes of a part's file. */
  readonly partSize: number;
  /** Bytes that each volume in turn may hold; the last counts for all that follow. */
  readonly sticks: readonly number[];
  /** Bytes of a part with nothing of its own in it. */
  readonly overhead: number;
  /** How large a file of so many bytes becomes when it is sealed. Never falls. */
  readonly sealedSize: (plain: number) => number;
};

/** `stick` counts from 1. `plain`: bytes before they are sealed. */
export type PackedPart<T extends Item> = {
  readonly stick: number;
  readonly plain: number;
  readonly items: readonly T[];
};

/** Bytes of an entry in a tar. */
export const entrySize = (size: number): number => BLOCK + size + paddingOf(size);

export const stickSize = (sticks: readonly number[], stick: number): number =>
  sticks[Math.min(stick, sticks.length) - 1] ?? 0;

/**
 * Largest first, each into the first part that has room, so that all parts but the last are nearly full. A new part is begun
 * on the first volume that has room for one. The same items give the same parts, in whatever order they come.
 * @param items each of which fits a part of its own on any volume
 */
export const packParts = <T extends Item>(
  items: readonly T[],
  { partSize, sticks, overhead, sealedSize }: PackingLimits,
): readonly PackedPart<T>[] => {
  type Bin = { readonly stick: number; readonly items: T[]; plain: number };
  const bins: Bin[] = [];
  const used: number[] = [];
  const left = (stick: number): number => stickSize(sticks, stick) - (used[stick] ?? 0);
  // Those that no more than a header fits into are not looked at again.
  let open: Bin[] = [];

  const put = (bin: Bin, item: T, cost: number): void => {
    const before = bin.items.length === 0 ? 0 : sealedSize(bin.plain);
    bin.plain += cost;
    bin.items.push(item);
    used[bin.stick] = (used[bin.stick] ?? 0) + sealedSize(bin.plain) - before;
  };
  const begin = (cost: number): Bin => {
    let stick = 1;
    while (sealedSize(overhead + cost) > left(stick)) {
      stick += 1;
      if (stick > Math.max(sticks.length, used.length) + 1) throw new RangeError('an item fits no stick');
    }
    const bin: Bin = { stick, items: [], plain: overhead };
    bins.push(bin);
    open.push(bin);
    return bin;
  };

  for (const item of items.toSorted((a, b) => b.size - a.size || compareBytes(a.path, b.path))) {
    const cost = entrySize(item.size);
    const fits = ({ stick, plain }: Bin): boolean => {
      const grown = sealedSize(plain + cost);
      return grown <= partSize && grown - sealedSize(plain) <= left(stick);
    };
    const bin = open.find(fits) ?? begin(cost);
    put(bin, item, cost);
    if (sealedSize(bin.plain + entrySize(0)) > partSize) open = open.filter((one) => one !== bin);
  }
  if (bins.length === 0) bins.push({ stick: 1, items: [], plain: overhead });
  return bins
    .toSorted((a, b) => a.stick - b.stick)
    .map(({ stick, plain, items: own }) => ({
      stick,
      plain,
      items: own.toSorted((a, b) => compareBytes(a.path, b.path)),
    }));
};

/** The most plain bytes whose sealed form is at most `limit`; negative where not even nothing is. */
export const plainWithin = (limit: number, sealedSize: (plain: number) => number): number => {
  let low = -1;
  let high = limit;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sealedSize(middle) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
};
