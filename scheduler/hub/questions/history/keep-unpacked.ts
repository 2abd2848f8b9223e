import type { Digest } from '#bundles/digest';

/** Files of the packages of a bundle, by assignment and path. */
export type Unpacked = ReadonlyMap<string, ReadonlyMap<string, Buffer>>;

type ReadUnpacked = (bundle: Digest) => Promise<Unpacked>;

/**
 * Keeps the bundles that were unpacked last, as many as fit: questions about packages of one bundle follow each other. A larger bundle is
 * unpacked for each question.
 */
export const keepUnpacked = (read: ReadUnpacked, maxBytes: number): ReadUnpacked => {
  /** The one that was used last is the last. */
  const kept = new Map<Digest, { readonly unpacked: Unpacked; readonly bytes: number }>();
  const keep = (bundle: Digest, unpacked: Unpacked, bytes: number): void => {
    kept.delete(bundle);
    if (bytes > maxBytes) return;
    kept.set(bundle, { unpacked, bytes });
    let total = [...kept.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [oldest, one] of kept) {
      if (total <= maxBytes) return;
      kept.delete(oldest);
      total -= one.bytes;
    }
  };
  return async (bundle) => {
    const known = kept.get(bundle);
    const unpacked = known?.unpacked ?? (await read(bundle));
    keep(bundle, unpacked, known?.bytes ?? sizeOf(unpacked));
    return unpacked;
  };
};

const sizeOf = (unpacked: Unpacked): number =>
  [...unpacked.values()]
    .flatMap((files) => [...files.values()])
    .reduce((sum, bytes) => sum + bytes.byteLength, 0);
