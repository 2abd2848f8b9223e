import { rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { openOperation } from './journal/operations.ts';
import { lastingBlobs, readBundles } from './bundles.ts';
import { readCondition } from './conditions.ts';
import { readPackages } from './applied/packages.ts';
import { readPull } from './pull.ts';
import { tryPullLock } from './pull-lock.ts';
import { forgetSetsUsed, readSecretSets } from './secret-sets.ts';
import type { State } from './state.ts';

/**
 * Removes blobs that nothing pins and returns their digests. Manifests, configs and image signatures are never removed (they
 * are small, and deltas and audits need them). Layers and files stay while a current, previous or desired package uses them;
 * blobs of a running pull stay, too.
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
  if (lock) await removeTemporaryFiles(join(state.directory, 'blobs', 'sha256'));
  return garbage;
};

const pinnedBlobs = (state: State): ReadonlySet<Digest> => {
  const small = readBundles(state).flatMap(lastingBlobs);
  const open = openOperation(state);
  const refs = [
    ...readPackages(state).flatMap(({ desired, current, previous }) => [desired, current, previous]),
    open?.from,
    open?.to,
  ];
  forgetSetsUsed(state, new Set(refs.flatMap((ref) => ref?.package ?? [])));
  const sealed = [...refs.flatMap((ref) => ref?.secrets ?? []), ...readSecretSets(state)];
  const pinned = [
    ...small,
    ...refs.flatMap((ref) => [ref?.layer, ...(ref?.blobs ?? [])]),
    ...sealed.map(({ digest }) => digest),
    ...readPull(state),
    ...(readCondition(state, 'parts')?.blobs ?? []),
  ];
  return new Set(pinned.filter((digest) => digest !== undefined));
};

/** Removes temporary files that a killed copy left behind. */
const removeTemporaryFiles = async (folder: string): Promise<void> => {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((entry) => entry.startsWith('.tmp-'))) await rm(join(folder, name));
};
