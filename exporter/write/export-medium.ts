import { MAX_SIZE } from '#bundles/archive/tar-header';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Medium } from '#bundles/medium/medium';
import { formatChannel } from '#bundles/names';
import type { Plan } from '../plan/plan.ts';
import type { Prepared } from '../prepare.ts';
import { writeDirectory } from './write-directory.ts';
import type { WriteOptions, Written } from './write-options.ts';
import { writeTarFile } from './write-tar-file.ts';

export type Exported = Written & {
  /** For people: 'prod/kiosk 3 -> 4'. */
  readonly changes: readonly string[];
};

/** Carries a plan out. @throws FleetError of the writers, USAGE */
export const exportMedium = async (
  { plan, source, target }: Prepared,
  options: WriteOptions,
): Promise<Exported> => {
  const before = target.before?.medium;
  const changes = describeChanges(plan, before);
  if (target.form === 'directory')
    return { ...(await writeDirectory(plan, source, target.path, before, options)), changes };
  if (options.maxFileSize !== undefined && options.maxFileSize < MAX_SIZE) {
    throw new FleetError('USAGE', '--max-file-size cuts the files of a folder; a tar is one file', {
      hint: 'Give a folder with --to',
    });
  }
  return { ...(await writeTarFile(plan, source, target.path, options)), changes };
};

const describeChanges = (plan: Plan, before: Medium | undefined): readonly string[] => {
  const old = releasesOf(before?.documents ?? []);
  const next = releasesOf(plan.medium.documents);
  const changed = [...next]
    .filter(([channel, version]) => old.get(channel) !== version)
    .map(([channel, version]) =>
      old.has(channel) ? `${channel} ${old.get(channel)} -> ${version}` : `${channel} ${version} is new`,
    );
  const gone = [...old.keys()].filter((channel) => !next.has(channel)).map((channel) => `${channel} is gone`);
  return [...changed, ...gone].toSorted(compareBytes);
};

const releasesOf = (documents: Medium['documents']): ReadonlyMap<string, number> =>
  new Map(
    documents.flatMap(({ role, environment, clusterType, version }) =>
      role === 'release' && environment !== undefined && clusterType !== undefined && version !== undefined
        ? [[formatChannel({ environment, clusterType }), version] as const]
        : [],
    ),
  );
