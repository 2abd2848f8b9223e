import { Readable } from 'node:stream';
import type { Digest } from '#bundles/digest';
import { askFor } from '#bundles/formats/layout/verified';
import { inMemory } from './in-memory.ts';
import type { Source } from './source.ts';

/** Adds a few small blobs in memory to every repository of a source. */
export const withBlobs = (source: Source, extra: ReadonlyMap<Digest, Buffer>): Source => {
  if (extra.size === 0) return source;
  return {
    ...source,
    blobs: (repository) => {
      const blobs = source.blobs(repository);
      return {
        name: blobs.name,
        size: async (digest) => extra.get(digest)?.byteLength ?? (await blobs.size(digest)),
        open: async (digest, signal) => {
          const bytes = extra.get(digest);
          return bytes ? Readable.from([bytes]) : blobs.open(digest, signal);
        },
        get: async (digest, wanted) => {
          const bytes = extra.get(digest);
          return bytes ? inMemory(bytes) : askFor(blobs, digest, wanted);
        },
      };
    },
    stream: (repository, digest, signal) => {
      const bytes = extra.get(digest);
      return bytes ? Readable.from([bytes]) : source.stream(repository, digest, signal);
    },
  };
};
