import type { DesiredPackage, OwnedObject } from '../../../model/target.ts';
import { ancestorsOf } from '../desired/ancestors-of.ts';
import { readWanted } from '../desired/read-wanted.ts';
import { executeStep } from '../execute/execute-step.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { fromStep } from '../host-step.ts';
import { readAccounts } from '../live/accounts.ts';
import { placesOf } from '../live/read-places.ts';
import { locate } from '../desired/locate.ts';
import { currentKeys } from '../owned/current-keys.ts';
import { readOwned } from '../owned/owned-state.ts';
import type { PlanContext } from '../plan/plan-context.ts';
import { planDirectories } from '../plan/plan-directories.ts';
import { planSecrets } from '../plan/plan-secrets.ts';

/**
 * Writes missing files of secrets and their directories again, because a boot empties file systems in memory. Existing files and units
 * are not changed. Returns the paths. @throws FleetError APPLY_FAILED, SECRET_MISSING, DISK_FULL, PERMISSION, IO, ABORTED
 */
export const restoreHostSecrets = async (
  options: HostTargetOptions,
  desired: DesiredPackage,
  owned: readonly OwnedObject[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const places = placesOf(options.root);
  const wanted = await locate(readWanted(desired), places);
  const names = await currentKeys(
    places,
    owned.map(({ key }) => key),
  );
  const context: PlanContext = {
    options,
    places,
    wanted,
    owned: readOwned(owned, names),
    taken: new Map(),
    accounts: await readAccounts(options.root),
    signal,
  };
  const { list } = await planSecrets(context, new Set());
  const missing = list.flatMap(({ path, step }) => {
    const made = step([]);
    return made.outcome === 'created' ? [{ path, step: made }] : [];
  });
  if (missing.length === 0) return [];
  const folders = new Set(missing.flatMap(({ path }) => ancestorsOf(path)));
  for (const step of (await planDirectories(context, new Set())).steps) {
    const typed = fromStep(step);
    if (typed.kind === 'directory' && folders.has(typed.detail.path))
      await executeStep(options, step, desired, signal);
  }
  for (const { step } of missing) await executeStep(options, step, desired, signal);
  return missing.map(({ path }) => path);
};
