import type { Sources } from '../../load/sources/open-sources.ts';
import { keyOf, type Watched } from './watched.ts';

export type RecordedSources = Sources & {
  /** Every source that was read, including failed attempts. */
  readonly watched: () => readonly Watched[];
};

/** Records which sources a build reads. The repositories of a platform are known only after reading it. */
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
