import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { FleetError, toFleetError } from '#bundles/errors';
import { type BlobDirectory, openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { markUsed } from '../../load/sources/cache-use.ts';
import { withPlace } from '../../model/with-place.ts';
import type { Content, Contents, FetchContent, WantedContent } from './content.ts';
import type { LockedContent } from '../../model/content-locks.ts';

/**
 * Downloaded contents by digest, in a folder that is kept between runs. Those whose size is asked for are in use: pruneCache leaves
 * them. @param directory the scheduler's cache
 */
export const contentCache = (directory: string): BlobDirectory => {
  const cache = openBlobDirectory(join(directory, 'content'), 'the cache of fetched files');
  return {
    ...cache,
    size: async (digest) =>
      (await markUsed(directory, cache.path(digest))) ? await cache.size(digest) : undefined,
  };
};

/**
 * Gets each address once in a run: from the cache, from the layout, or by `fetch`, which fills the cache.
 * @param released the layout that is built into: of an earlier bundle it has files that their server may not have any more
 */
export const openContents = (cache: BlobDirectory, fetch: FetchContent, released?: BlobSource): Contents => {
  const known = new Map<string, Promise<Content>>();
  const bring = async (url: string, { digest, size }: Pinned, signal: AbortSignal): Promise<Content> => {
    for (const source of released ? [cache, released] : [cache]) {
      const here = await source.size(digest);
      if (here !== undefined && (size ?? here) === here) return { digest, size: here, source, from: { url } };
    }
    const fetched = await fetch(url, defined({ digest, size }), signal);
    return { ...fetched, source: cache, from: { url } };
  };
  return async (wanted, locks, signal) => {
    const pinned = pinOf(wanted, locks.files.get(wanted.url));
    const key = `${pinned.digest} ${wanted.url}`;
    const found = known.get(key) ?? bring(wanted.url, pinned, signal);
    known.set(key, found);
    try {
      return await found;
    } catch (error) {
      throw withPlace(toFleetError(error, `fetching ${wanted.url}`), wanted.at);
    }
  };
};

type Pinned = Pick<LockedContent, 'digest'> & Partial<Pick<LockedContent, 'size'>>;

/** A SHA-256 in the package must equal the one in the lock file. */
const pinOf = ({ url, sha256, at }: WantedContent, locked: LockedContent | undefined): Pinned => {
  if (sha256 === undefined && !locked) {
    throw new FleetError('CONTENT_UNPINNED', `nothing says what ${url} must be`, {
      at,
      hint: 'Run fleet-scheduler images lock and commit images.lock.yaml, or give its sha256 beside the url',
    });
  }
  if (sha256 !== undefined && locked && sha256 !== locked.digest) {
    throw new FleetError(
      'CONTENT_UNPINNED',
      `${url} is ${sha256} here, and ${locked.digest} in images.lock.yaml`,
      { at, hint: 'Remove the line from images.lock.yaml, or the sha256 here' },
    );
  }
  return sha256 === undefined ? (locked as LockedContent) : { ...locked, digest: sha256 };
};
