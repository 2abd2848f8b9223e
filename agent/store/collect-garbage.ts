import { rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { openOperations } from './journal/operations.ts';
import { retainedBlobs, readBundles } from './bundles.ts';
import { readCondition } from './conditions.ts';
import type { PackageRef } from './applied/package-ref.ts';
import { removePartialBlobs } from './partial-blobs.ts';
import { readPackages } from './applied/packages.ts';
import { readPull } from './pull.ts';
import { tryPullLock } from './pull-lock.ts';
import { forgetSetsUsed, readSecretSets } from './secret-sets.ts';
import type { State } from './state.ts';
import { readTrustRow } from './trust.ts';

/** Number of former bundles, of former statements of each role, and of failures of each package that are kept. */
const KEPT_FORMER = 100;

/**
 * Removes blobs that nothing pins and returns their digests. Layers and files stay while a current, previous or desired package
 * uses them; manifests, configs and image signatures of the last bundles, which audits need, and blobs of a running pull stay, too.
 */
export const collectGarbage = async (state: State): Promise<readonly Digest[]> => {
  const present = await state.blobs.list();
  // Pins are read in the same transaction: a pull in another process pins blobs before it looks for them.
  const sweep = state.db.transaction(() => {
    const pinned = pinnedBlobs(state);
    const garbage = present.filter((digest) => !pinned.has(digest));
    for (const digest of garbage) rmSync(state.blobs.path(digest), { force: true });
    return garbage;
  });
  const garbage = sweep.immediate();
  // Temporary files may belong to a running pull.
  using lock = tryPullLock(state.directory);
  if (lock) await removeTemporaryFiles(state, join(state.directory, 'blobs', 'sha256'));
  // Last, because a full disk refuses it; the next call removes the blobs of what it deletes.
  state.db.transaction(forgetFormer).immediate(state);
  return garbage;
};

/** The packages that run, are desired or may be restored. */
const refsInUse = (state: State): readonly PackageRef[] => {
  const refs = [
    ...readPackages(state).flatMap(({ desired, current, previous }) => [desired, current, previous]),
    ...openOperations(state).flatMap(({ from, to }) => [from, to]),
  ];
  return refs.filter((ref) => ref !== undefined);
};

/** Deletes what former releases left in the database, but for the last of each kind. */
const forgetFormer = (state: State): void => {
  const { db } = state;
  const refs = refsInUse(state);
  const { desiredBundles, siteValues } = readTrustRow(state);
  forgetSetsUsed(state, new Set(refs.map((ref) => ref.package)));
  const values = [...refs.map((ref) => ref.siteValues), siteValues];
  db.prepare('DELETE FROM site_values WHERE digest NOT IN (SELECT value FROM json_each(?))').run(
    JSON.stringify(values.filter((digest) => digest !== undefined)),
  );
  db.prepare(
    `DELETE FROM bundle WHERE digest NOT IN (SELECT value FROM json_each(@used))
     AND rowid NOT IN (SELECT rowid FROM bundle ORDER BY rowid DESC LIMIT @kept)`,
  ).run({
    used: JSON.stringify([...refs.map((ref) => ref.bundle), ...desiredBundles]),
    kept: KEPT_FORMER,
  });
  db.prepare(
    `DELETE FROM statement WHERE (current = 0 OR role = 'bundle') AND scope NOT IN (SELECT digest FROM bundle)
     AND rowid NOT IN (SELECT rowid FROM (SELECT rowid, row_number() OVER (PARTITION BY role ORDER BY rowid DESC) AS age
     FROM statement) WHERE age <= ?)`,
  ).run(KEPT_FORMER);
  db.prepare(
    `DELETE FROM failed WHERE rowid NOT IN (SELECT rowid FROM (SELECT rowid, row_number()
     OVER (PARTITION BY assignment ORDER BY rowid DESC) AS age FROM failed) WHERE age <= ?)`,
  ).run(KEPT_FORMER);
};

const pinnedBlobs = (state: State): ReadonlySet<Digest> => {
  const refs = refsInUse(state);
  const sealed = [...refs.flatMap((ref) => ref.secrets ?? []), ...readSecretSets(state)];
  return new Set([
    ...readBundles(state).flatMap(retainedBlobs),
    ...refs.flatMap((ref) => [ref.layer, ...(ref.blobs ?? [])]),
    ...sealed.map(({ digest }) => digest),
    ...readPull(state),
    ...(readCondition(state, 'parts')?.blobs ?? []),
  ]);
};

/** Removes temporary files that a killed copy left behind, and partial blobs that no pull waits for. */
const removeTemporaryFiles = async (state: State, folder: string): Promise<void> => {
  const names = await readdir(folder).catch(() => []);
  await removePartialBlobs(state, folder, names);
  for (const name of names.filter((entry) => entry.startsWith('.tmp-'))) await rm(join(folder, name));
};
