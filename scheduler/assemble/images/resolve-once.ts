import type { BlobSource } from '#bundles/formats/layout/blobs';
import { attachLocked } from './attach-locked.ts';
import type { Attachment } from '../../model/images/attachment.ts';
import { type Vouching, vouchImages } from './signatures/vouch-images.ts';
import { type PullImage, type ResolvedImage, resolveImages } from './resolve-images.ts';

/**
 * `resolveImages` with a cache for one build: 500 applications on 100 cluster types have 500 sets of images, not 50,000. Adds
 * the attachments of the lock file, and signatures that policies require.
 */
export const resolveOnce = (
  sources: readonly BlobSource[],
  pull: PullImage | undefined,
  signal: AbortSignal,
  vouching?: Vouching,
  attachments: ReadonlyMap<string, readonly Attachment[]> = new Map(),
): ((names: readonly string[]) => Promise<readonly ResolvedImage[]>) => {
  const known = new Map<string, Promise<readonly ResolvedImage[]>>();
  const resolve = async (names: readonly string[]): Promise<readonly ResolvedImage[]> => {
    const found = await resolveImages(sources, names, signal, pull);
    const images = await attachLocked(found, attachments, sources, pull, signal);
    return vouching ? await vouchImages(images, vouching, signal) : images;
  };
  return (names) => {
    const key = names.join('\n');
    const found = known.get(key) ?? resolve(names);
    known.set(key, found);
    return found;
  };
};
