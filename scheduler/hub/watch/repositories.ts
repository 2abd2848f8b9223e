import type { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { platformOptions } from '../../load/platform/platform-options.ts';
import type { Location } from '../../model/location.ts';
import { faultFields } from './fault-fields.ts';
import { look, type Seen } from './look.ts';
import type { WatchOptions } from './watch-options.ts';
import { keyOf, nameOf, type RepositoryState, type Watched } from './watched.ts';

/** The state of the platform's sources between rounds. */
export type Repositories = {
  /** Whether any source changed since the last build. Throws the first source's FleetError if all of them fail. */
  readonly look: (signal: AbortSignal) => Promise<boolean>;
  /**
   * Records the sources that a build read, which are checked from now on.
   * @param whole false: the build failed and may not have read all sources, so known ones are kept
   */
  readonly remember: (watched: readonly Watched[], whole: boolean) => void;
  readonly state: () => readonly RepositoryState[];
};

type Entry = {
  readonly location: Location;
  /** The mark that was built; undefined if the source could not be read. */
  readonly built: string | undefined;
  /** The mark seen last. */
  readonly mark: string | undefined;
  readonly since: Date;
  readonly error: FleetError | undefined;
};

export const createRepositories = ({ configuration, env, cwd, clock, log }: WatchOptions): Repositories => {
  let entries: ReadonlyMap<string, Entry> = new Map();

  const next = (before: Entry | undefined, now: Omit<Entry, 'since'>): Entry => {
    const same = before && before.mark === now.mark && before.error?.code === now.error?.code;
    if (now.error && before?.error?.code !== now.error.code) {
      log.warn({ ...nameOf(now.location), ...faultFields(now.error) }, 'cannot be read');
    }
    return { ...now, since: same ? before.since : clock() };
  };

  const seenNow = (entry: Entry, seen: Seen | undefined): Entry =>
    seen && 'mark' in seen
      ? next(entry, { ...entry, mark: seen.mark, error: undefined })
      : next(entry, { ...entry, error: seen?.error });

  return {
    look: async (signal) => {
      if (entries.size === 0) return false;
      const { cacheDirectory } = platformOptions(configuration, { cwd, env, signal });
      const locations = [...entries.values()].map(({ location }) => location);
      const seen = await look(locations, { cacheDirectory, env, signal });
      entries = new Map([...entries].map(([key, entry]) => [key, seenNow(entry, seen.get(key))]));
      const all = [...entries.values()];
      const [first] = all;
      if (first?.error && all.every(({ error }) => error)) throw first.error;
      return all.some(({ built, mark, error }) => !error && mark !== built);
    },
    remember: (watched, whole) => {
      const read = watched.map(({ location, mark }): [string, Entry] => {
        const before = entries.get(keyOf(location));
        // A directory has no commit: the mark of the look before the build is used, which is the same state or older.
        const built = location.kind === 'directory' ? before?.mark : mark;
        const error = built === undefined ? before?.error : undefined;
        return [keyOf(location), next(before, { location, built, mark: built, error })];
      });
      // Marks the current state as built even after a failure, so that the same state is not built again.
      const tried = [...entries].map(([key, entry]): [string, Entry] => [
        key,
        { ...entry, built: entry.mark },
      ]);
      entries = new Map(whole ? read : [...tried, ...read]);
    },
    state: () =>
      [...entries.values()].map(({ location, mark, since, error }) => ({
        ...nameOf(location),
        commit: mark,
        since: formatTime(since),
        error: error && { code: error.code, message: error.message },
      })),
  };
};
