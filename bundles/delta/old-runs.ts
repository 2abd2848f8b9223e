import type { OldContent } from './old-content.ts';

/** A page of the disk: runs that lie beside each other are read once. */
const WINDOW = 4 << 10;

/** Short runs of the old content, each a view that is valid until the next one is asked for. */
export const oldRuns = (
  old: OldContent,
): ((from: number, length: number) => Uint8Array | Promise<Uint8Array>) => {
  let start = 0;
  let window: Uint8Array = new Uint8Array(0);
  return (from, length) => {
    const isHere = from >= start && from + length <= start + window.length;
    if (isHere) return window.subarray(from - start, from - start + length);
    if (length >= WINDOW) return old.read(from, length);
    const keep = (bytes: Uint8Array): Uint8Array => {
      start = from;
      window = bytes;
      return bytes.subarray(0, length);
    };
    const read = old.read(from, Math.min(WINDOW, old.size - from));
    return read instanceof Promise ? read.then(keep) : keep(read);
  };
};
