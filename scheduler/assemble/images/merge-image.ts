import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import type { ResolvedImage } from './resolved-image.ts';

type Entry = ResolvedImage['entry'];

/** Merges one image that two packages name differently: the result has both names and the attachments of both. */
export const mergeImage = (images: Map<string, ResolvedImage>, image: ResolvedImage): void => {
  const { digest } = image.entry;
  const known = images.get(digest)?.entry;
  images.set(digest, known ? { ...image, entry: mergeEntry(image.entry, known) } : image);
};

const mergeEntry = (entry: Entry, known: Entry): Entry => {
  const names = union(entry.names, known.names);
  const attachments = union(entry.attachments, known.attachments);
  const tags = { ...entry.attachmentTags, ...known.attachmentTags };
  return {
    ...entry,
    ...defined({ names, attachments, attachmentTags: Object.keys(tags).length > 0 ? tags : undefined }),
  };
};

const union = <T extends string>(
  one: readonly T[] = [],
  other: readonly T[] = [],
): readonly T[] | undefined =>
  one.length + other.length === 0 ? undefined : [...new Set([...one, ...other])].toSorted(compareBytes);
