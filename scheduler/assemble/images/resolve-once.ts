import { attachLocked } from './attach-locked.ts';
import type { Attachment } from '../../model/images/attachment.ts';
import { checkPlatforms } from './check-platforms.ts';
import { type SignatureRequirements, attachSignatures } from './signatures/attach-signatures.ts';
import { type ImageOrigin, resolveImages } from './resolve-images.ts';
import type { ResolvedImage } from './resolved-image.ts';

/** @param platforms 'linux/amd64' ... that each image must have; none: not judged */
export type ResolveImages = (
  names: readonly string[],
  platforms: readonly string[],
) => Promise<readonly ResolvedImage[]>;

/**
 * `resolveImages` with a cache for one build: 500 applications on 100 cluster types have 500 sets of images, not 50,000. Judges the
 * images' platforms, and adds the attachments of the lock file and signatures that policies require.
 */
export const resolveOnce = (
  origin: ImageOrigin,
  signal: AbortSignal,
  vouching?: SignatureRequirements,
  attachments: ReadonlyMap<string, readonly Attachment[]> = new Map(),
): ResolveImages => {
  const once = <T>(known: Map<string, Promise<T>>, key: string, work: () => Promise<T>): Promise<T> => {
    const found = known.get(key) ?? work();
    known.set(key, found);
    return found;
  };
  const images = new Map<string, Promise<readonly ResolvedImage[]>>();
  const judged = new Map<string, Promise<void>>();
  const resolve = async (names: readonly string[]): Promise<readonly ResolvedImage[]> => {
    const found = await attachLocked(await resolveImages(origin, names, signal), attachments, origin, signal);
    return vouching ? await attachSignatures(found, vouching, signal) : found;
  };
  // One set at a time: two sets that share an image would copy it twice.
  let last: Promise<unknown> = Promise.resolve();
  const resolveNext = (names: readonly string[]): Promise<readonly ResolvedImage[]> => {
    const next = last.then(() => resolve(names));
    last = next.catch(() => {});
    return next;
  };
  return async (names, platforms) => {
    const key = names.join('\n');
    const found = await once(images, key, () => resolveNext(names));
    await once(judged, `${platforms.join()}\n${key}`, () => checkPlatforms(found, platforms, signal));
    return found;
  };
};
