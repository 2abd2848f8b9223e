import { dirname, join } from 'node:path';
import { MAX_SIZE } from '#bundles/formats/archive/tar-header';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Medium, PARTS_FOLDER } from '#bundles/formats/medium/medium';
import { formatChannel } from '#bundles/names';
import type { Plan } from '../plan/plan.ts';
import type { Prepared } from '../plan/prepare.ts';
import { explainGone } from '../plan/medium/explain-gone.ts';
import { LOCK } from '../plan/medium/lock-file.ts';
import { whileLocked } from './lock-medium.ts';
import { releaseBefore } from './release-before.ts';
import { writeDirectory } from './write-directory.ts';
import type { WriteOptions, Written } from './write-options.ts';
import { type SetRequest, type WrittenSet, writeSet } from './write-set.ts';
import { withoutEmptyFolders } from './without-empty-folders.ts';
import { writeTarFile } from './write-tar-file.ts';

export type Exported = Written & {
  /** For a set of parts. */
  readonly set?: Omit<WrittenSet, keyof Written>;
  /** For people: 'prod/kiosk 3 -> 4'. */
  readonly changes: readonly string[];
};

/** Executes a plan. @throws FleetError USAGE, DISK_FULL, PERMISSION, IO, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, MEDIUM_INVALID */
export const exportMedium = (
  prepared: Prepared,
  options: WriteOptions,
  order?: SetRequest,
): Promise<Exported> => {
  const folders = prepared.targets.flatMap(({ form, path }) =>
    form === 'tar' ? [dirname(path)] : [join(path, 'blobs/sha256'), join(path, PARTS_FOLDER)],
  );
  return withoutEmptyFolders(folders, () => writeMedium(prepared, options, order));
};

const writeMedium = async (
  prepared: Prepared,
  options: WriteOptions,
  order?: SetRequest,
): Promise<Exported> => {
  const { plan, source, target, targets } = prepared;
  const before = target.before?.medium;
  const changes = describeChanges(plan, before);
  if (order) {
    const tar = targets.find(({ form }) => form === 'tar');
    if (tar) throw notAFolder(tar.path);
    const { written, removed, ...set } = await writeSet(prepared, order, options).catch((error: unknown) => {
      throw explainGone(error);
    });
    // The content of an existing sealed set is unknown here.
    return { written, removed, changes: written === 0 ? [] : changes, set };
  }
  if (prepared.seal || options.seal) throw new FleetError('INTERNAL', 'sealed media are written in parts');
  if (target.form === 'directory') {
    const done = await whileLocked(join(target.path, 'fleet', LOCK), target.path, (lock) =>
      writeDirectory(plan, source, target.path, before, { ...options, lock }),
    );
    await releaseBefore(target);
    return { ...done, changes };
  }
  if (options.maxFileSize !== undefined && options.maxFileSize < MAX_SIZE) {
    throw new FleetError('USAGE', '--max-file-size cuts the files of a folder; a tar is one file', {
      hint: 'Give a folder with --to',
    });
  }
  const done = await whileLocked(`${target.path}${LOCK}`, target.path, (lock) =>
    writeTarFile(plan, source, target.path, { ...options, lock, before: target.before }),
  );
  await releaseBefore(target);
  return { ...done, changes };
};

const notAFolder = (path: string): FleetError =>
  new FleetError('USAGE', `parts are written into folders, ${path} is a tar`, {
    hint: 'Give the folder that a stick is mounted at, or any other, with --to',
  });

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
