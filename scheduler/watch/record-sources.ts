import type { Sources } from '../platform/sources/open-sources.ts';
import { keyOf, type Watched } from './watched.ts';

export type RecordedSources = Sources & {
  /** Everything that was read, or that somebody tried to read. */
  readonly watched: () => readonly Watched[];
};

/** Passes reads on and keeps what they were of: the repositories of a platform are only known by reading it. */
export const recordSources = (sources: Sources): RecordedSources => {
  const seen = new Map<string, Watched>();
  return {
    locate: sources.locate,
    ...(sources.remarks && { remarks: sources.remarks }),
    read: async (request) => {
      const { location } = request;
      const key = keyOf(location);
      const known = seen.get(key);
      if (!known) seen.set(key, { location, mark: undefined });
      const source = await sources.read(request);
      seen.set(key, { location, mark: source.snapshot.commit });
      return source;
    },
    watched: () => [...seen.values()],
  };
};
