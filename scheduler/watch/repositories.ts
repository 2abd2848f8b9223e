import type { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { platformOptions } from '../commands/platform-options.ts';
import type { Location } from '../platform/sources/location.ts';
import { faultFields } from './fault-fields.ts';
import { look, type Seen } from './look.ts';
import type { WatchOptions } from './watch-options.ts';
import { keyOf, nameOf, type RepositoryState, type Watched } from './watched.ts';

/** What is known of the platform's sources from one round to the next. */
export type Repositories = {
  /** Is any of them another one than the last build read? @throws FleetError SOURCE_UNREACHABLE when none answers */
  readonly look: (signal: AbortSignal) => Promise<boolean>;
  /**
   * What a build has read, and so what is looked at from now on.
   * @param whole false: it failed and has read less than there is, so what was known stays
   */
  readonly remember: (watched: readonly Watched[], whole: boolean) => void;
  readonly state: () => readonly RepositoryState[];
};

type Entry = {
  readonly location: Location;
  /** The mark that was built; undefined: it could not be read. */
  readonly built: string | undefined;
  /** The mark that was seen last. */
  readonly mark: string | undefined;
  readonly since: Date;
  readonly error: FleetError | undefined;
};

export const makeRepositories = ({ configuration, env, cwd, clock, log }: WatchOptions): Repositories => {
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
        // A directory has no commit: what the look before the build saw is what the build read, or older.
        const built = location.kind === 'directory' ? before?.mark : mark;
        const error = built === undefined ? before?.error : undefined;
        return [keyOf(location), next(before, { location, built, mark: built, error })];
      });
      // Tried with what is there: not again for the same, or one mistake would be built as often as anybody commits.
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
