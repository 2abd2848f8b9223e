import { BLOCK, encodeHeader, paddingOf } from '#bundles/formats/archive/tar-header';
import { digestOf } from '#bundles/digest';
import type { PlannedBlob } from '../plan/plan.ts';
import type { FileSpan } from '../plan/medium/read-back.ts';
import type { PlannedEntry } from '../plan/plan-entries.ts';

/** A range of the planned archive: content of a blob, or header and padding. */
export type TarSpan = FileSpan & { readonly blob: PlannedBlob | undefined; readonly name: string };

/** All ranges of the archive: content with its known digest, headers and padding with the digest of their bytes. */
export const tarSpans = (path: string, entries: readonly PlannedEntry[]): readonly TarSpan[] => {
  const spans: TarSpan[] = [];
  let offset = 0;
  let between: Buffer[] = [];
  const add = (span: Pick<TarSpan, 'size' | 'digest' | 'blob' | 'name'>): void => {
    spans.push({ ...span, path, offset, whole: false });
    offset += span.size;
  };
  const addBetween = (name: string): void => {
    const bytes = Buffer.concat(between);
    between = [];
    add({ size: bytes.byteLength, digest: digestOf(bytes), blob: undefined, name });
  };
  for (const { path: name, size, digest, blob } of entries) {
    between.push(encodeHeader({ name, prefix: '', size, mode: 0o644, directory: false }));
    addBetween(`header of ${name}`);
    add({ size, digest, blob, name });
    between.push(Buffer.alloc(paddingOf(size)));
  }
  between.push(Buffer.alloc(2 * BLOCK));
  addBetween('end');
  return spans;
};
