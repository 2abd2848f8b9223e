import { BLOCK, paddingOf } from '#bundles/formats/archive/tar-header';
import { compareBytes } from '#bundles/digest';

/** Limits for packing blobs and pieces into parts, in bytes. */
export type Item = { readonly path: string; readonly size: number };

export type PartLimits = {
  /** Size limit of a part's file. */
  readonly partSize: number;
  /** Capacity of each volume; the last applies to all further ones. */
  readonly sticks: readonly number[];
  /** Size of an empty part. */
  readonly overhead: number;
  /** Size of a sealed file for a plain size. Monotonic. */
  readonly sealedSize: (plain: number) => number;
};

/** `stick` is the number of the volume, from 1. `plain` is the size before sealing. */
export type AllocatedPart<T extends Item> = {
  readonly stick: number;
  readonly plain: number;
  readonly items: readonly T[];
};

/** Size of an entry in a tar, with header and padding. */
export const entrySize = (size: number): number => BLOCK + size + paddingOf(size);

export const volumeSize = (sticks: readonly number[], stick: number): number =>
  sticks[Math.min(stick, sticks.length) - 1] ?? 0;

/**
 * Packs items by first fit, largest first, so that all parts but the last are nearly full. A new part goes to the first volume with room
 * for it. The result does not depend on the order of the items.
 * @param items each fits an empty part on any volume
 */
export const allocateParts = <T extends Item>(
  items: readonly T[],
  { partSize, sticks, overhead, sealedSize }: PartLimits,
): readonly AllocatedPart<T>[] => {
  type Bin = { readonly stick: number; readonly items: T[]; plain: number };
  const bins: Bin[] = [];
  const used: number[] = [];
  const left = (stick: number): number => volumeSize(sticks, stick) - (used[stick] ?? 0);
  // Skips parts that have room for no more than a header.
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

/** The largest plain size whose sealed size is at most `limit`; negative if even an empty file exceeds it. */
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
