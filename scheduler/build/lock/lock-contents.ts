import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openTools } from '../../load/applications/tools/find-tool.ts';
import type { ChartPlaces } from '../../load/charts/chart-places.ts';
import { chartKey, openCharts } from '../../load/charts/charts.ts';
import { noCharts } from '../../load/charts/no-charts.ts';
import { lockCharts } from '../../assemble/images/lock-charts.ts';
import { updateLockFile } from '../../assemble/images/lock-file.ts';
import { uniqueProblems, toProblem } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import { collectContents, type WantedDebs } from '../../assemble/content/collect-contents.ts';
import { selectionKey } from '../../assemble/content/debs/locked-debs.ts';
import { openDebSolver, type SolvedDeb } from '../../assemble/content/debs/solve-debs.ts';
import type { FetchContent, WantedContent } from '../../assemble/content/content.ts';
import type { ContentLocks } from '../../model/content-locks.ts';
import { loadToLock, type LockRequest } from './load-to-lock.ts';
import { renderToLock } from './render-to-lock.ts';
import {
  type LockedDebs,
  type LockedFile,
  writeContentLocks,
  writeDebLocks,
} from '../../assemble/content/write-content-locks.ts';

export type LockContentsOptions = LockRequest & {
  /** Downloads files into the cache. */
  readonly fetch: FetchContent;
  /** Source of charts; undefined: charts are not looked up. */
  readonly charts: ChartPlaces | undefined;
};

/** Result for one entry. `after` equal to `before`: unchanged. */
export type LockedEntry = {
  readonly name: string;
  readonly before: Digest | undefined;
  readonly after: Digest;
};

export type ContentsLock = {
  /** undefined: nothing changed. */
  readonly file: string | undefined;
  readonly locked: readonly LockedEntry[];
  /** Every address and chart that packages name, valid for --update. */
  readonly names: readonly string[];
  /** Unused entries. Reported only if all files could be read. */
  readonly unused: readonly string[];
  /** Errors of entries that were not found or not looked up. */
  readonly missing: readonly FleetError[];
  /** Errors of files that could not be read, whose addresses are therefore unknown. */
  readonly unread: readonly FleetError[];
};

/**
 * Locks the external contents of host packages: each address to the SHA-256 and size of its current content, each chart to the
 * SHA-256 and size of its archive. Entries that were found are written even if others were not. Phases: load, plan and render, collect,
 * look up, write.
 */
export const lockContents = async (options: LockContentsOptions): Promise<ContentsLock> => {
  const { signal } = options;
  // load
  const loaded = await loadToLock(options);
  // A platform by Git URL has no place for the lock file; the caller that locks images reports it.
  if (!loaded) return NOTHING;
  const { sources, root, directory, platforms } = loaded;
  // plan, render
  const tools = openTools(options.env ?? process.env, signal);
  const hosts = renderToLock(
    platforms,
    {
      sources,
      tools,
      charts: openCharts(noCharts),
      isWanted: ({ clusterType }) => clusterType.target === 'host',
    },
    signal,
  );
  // collect
  const wanted = await collectContents(hosts, signal);
  const unread = [...loaded.unread, ...wanted.problems];
  // look up
  const renew = (name: string): boolean => options.update === 'all' || options.update.includes(name);
  const debs = await lockDebs(wanted.debs, root.contentLocks, options, renew);
  const byUrl = new Map([...wanted.files, ...debs.files].map((one) => [one.url, one]));
  const files = await lockFiles([...byUrl.values()], root.contentLocks.files, options.fetch, renew, signal);
  const charts = await lockCharts(wanted.charts, root.imageLocks, options.charts, renew, signal);
  // write
  const written = [
    await updateLockFile(directory, charts.locked),
    await writeContentLocks(directory, files.locked),
    await writeDebLocks(directory, debs.locked),
  ];
  const complete = loaded.isWhole && unread.length === 0;
  const names = new Set([...wanted.debs.map(selectionKey), ...byUrl.keys()]);
  return {
    file: written.find((one) => one !== undefined),
    locked: [
      ...files.locked.map(({ url, before, after }) => ({
        name: url,
        before: before?.digest,
        after: after.digest,
      })),
      ...charts.locked.map(({ image, before, after }) => ({
        name: image,
        before: before === undefined ? undefined : digestIn(before),
        after: digestIn(after),
      })),
    ],
    names: [...names, ...wanted.charts.map(({ reference }) => chartKey(reference))],
    unused: complete
      ? [...root.contentLocks.debs.keys(), ...root.contentLocks.files.keys()].filter((key) => !names.has(key))
      : [],
    missing: [...debs.problems, ...files.problems, ...charts.problems],
    unread: uniqueProblems(unread),
  };
};

const NOTHING: ContentsLock = { file: undefined, locked: [], names: [], unused: [], missing: [], unread: [] };

const digestIn = (pinned: string): Digest => pinned.slice(pinned.lastIndexOf('@') + 1) as Digest;

/**
 * Solves the selections that are not locked, or are to be renewed. The files of locked selections are locked, too; newly solved
 * ones with the SHA-256 of apt's index.
 */
const lockDebs = async (
  wanted: readonly WantedDebs[],
  locks: ContentLocks,
  { env = process.env, signal }: LockContentsOptions,
  renew: (key: string) => boolean,
): Promise<{
  readonly locked: readonly LockedDebs[];
  readonly files: readonly WantedContent[];
  readonly problems: readonly FleetError[];
}> => {
  const locked: LockedDebs[] = [];
  const files: WantedContent[] = [];
  const problems: FleetError[] = [];
  for (const [base, selections] of Map.groupBy(wanted, ({ of }) => of)) {
    await using solve = openDebSolver(base, env);
    for (const selection of selections) {
      const { at, packages } = selection;
      const key = selectionKey(selection);
      const before = locks.debs.get(key);
      if (before && !renew(key)) {
        files.push(...before.map((url) => ({ url, sha256: undefined, at })));
        continue;
      }
      try {
        const solved = await solve(packages, signal);
        locked.push({ key, before, after: solved.map(({ url }) => url) });
        files.push(...solved.map(({ url, digest }: SolvedDeb) => ({ url, sha256: digest, at })));
      } catch (error) {
        // At the package that wants them, though the error may be at the base.
        const found = toProblem(error, `solving ${key}`);
        problems.push(new FleetError(found.code, found.message, { at, hint: found.hint, cause: found }));
      }
    }
  }
  return { locked, files, problems };
};

const lockFiles = async (
  wanted: readonly WantedContent[],
  locks: ContentLocks['files'],
  fetch: FetchContent,
  renew: (url: string) => boolean,
  signal: AbortSignal,
): Promise<{ readonly locked: readonly LockedFile[]; readonly problems: readonly FleetError[] }> => {
  const locked: LockedFile[] = [];
  const problems: FleetError[] = [];
  for (const { url, at, sha256 } of wanted) {
    const before = locks.get(url);
    if (before && !renew(url) && (sha256 ?? before.digest) === before.digest) {
      locked.push({ url, before, after: before });
      continue;
    }
    try {
      locked.push({
        url,
        before,
        after: await fetch(url, sha256 === undefined ? undefined : { digest: sha256 }, signal),
      });
    } catch (error) {
      problems.push(withPlace(toProblem(error, `fetching ${url}`), at));
    }
  }
  return { locked, problems };
};
