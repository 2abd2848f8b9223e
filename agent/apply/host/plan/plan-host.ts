import type { DesiredPackage, OwnedObject, Plan } from '../../../model/target.ts';
import { readWanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { readAccounts } from '../live/accounts.ts';
import { planImages } from './plan-images.ts';
import { planPlaybooks } from '../playbooks/plan-playbooks.ts';
import { parentKey, readOwned } from '../owned-state.ts';
import { planSettings } from './plan-settings.ts';
import { programFor, settingRecord } from '../settings/setting.ts';
import { requireGenerator } from '../systemd/quadlets.ts';
import { checkClaims } from './check-claims.ts';
import type { PlanContext } from './plan-context.ts';
import { planDirectories, wantedFolders } from './plan-directories.ts';
import { planDebs } from './plan-debs.ts';
import { type FileChange, planFiles } from './plan-files.ts';
import { planRemovals } from './plan-removals.ts';
import { planSecrets } from './plan-secrets.ts';
import { planDropIns } from './plan-drop-ins.ts';
import { planUnits } from './plan-units.ts';

/**
 * Plans the steps from the live state to the desired state, in this order: stop units that are removed (while their files exist),
 * Debian packages (which bring units and users), images, remove entries of another type, then accounts, directories, files,
 * removals, settings, daemon-reload, playbooks and units, and at last images that nothing runs any more.
 * @throws FleetError PATH_CLAIMED, TOOL_MISSING, APPLY_FAILED; as readWanted and readEntryIn
 */
export const planHost = async (
  options: HostTargetOptions,
  desired: DesiredPackage | undefined,
  owned: readonly OwnedObject[],
  taken: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Plan> => {
  const wanted = desired && readWanted(desired);
  if (wanted) checkClaims(wanted, taken);
  requireGenerator(options, wanted);
  const accounts = await readAccounts(options.root);
  const context: PlanContext = { options, wanted, owned: readOwned(owned), taken, accounts, signal };

  const debs = await planDebs(context);
  const images = await planImages(context);
  const removals = await planRemovals(context, wantedFolders(wanted));
  const early = removals.list.filter((removal) => removal.early);
  const makesRoom = new Set(early.map(({ path }) => path).filter((path) => removals.gone.has(path)));
  const directories = await planDirectories(context, makesRoom);
  const files = await planFiles(context, makesRoom);
  const secrets = await planSecrets(context, makesRoom);
  const dropIns = await planDropIns(context);
  const changed = new Set(
    [...files.list, ...secrets.list, ...removals.list, ...dropIns]
      .filter((one) => one.changes)
      .map(({ path }) => path),
  );
  const units = await planUnits(context, changed, files.found);

  const playbooks = await planPlaybooks(options, desired, owned, signal);

  const outdatedBy = (path: string): readonly string[] => [
    ...units.outdatedBy(path),
    ...(programFor(path) === undefined ? [] : [settingRecord(path)]),
  ];
  const stepsOf = (list: readonly FileChange[]) => list.map(({ path, step }) => step(outdatedBy(path)));
  // Accounts come first, because entries may belong to them.
  const isAccounts = ({ path }: { readonly path: string }): boolean => programFor(path) === 'sysusers';
  const folders = Map.groupBy(
    directories.steps,
    ({ key }) => key === parentKey('/etc') || key === parentKey('/etc/sysusers.d'),
  );
  return {
    steps: [
      ...units.removals,
      ...debs.steps,
      ...images.steps,
      ...stepsOf(early),
      ...(folders.get(true) ?? []),
      ...stepsOf(files.list.filter(isAccounts)),
      ...(await planSettings(context, ['sysusers'])),
      ...(folders.get(false) ?? []),
      ...stepsOf(files.list.filter((file) => !isAccounts(file))),
      ...stepsOf(secrets.list),
      ...stepsOf(removals.list.filter((removal) => !removal.early)),
      ...stepsOf(dropIns),
      ...(await planSettings(context, ['tmpfiles', 'sysctl'])),
      ...units.reload,
      ...playbooks.beforeUnits,
      ...units.steps,
      ...playbooks.afterUnits,
      ...images.removals,
    ],
    owns: [
      ...debs.owns,
      ...images.owns,
      ...directories.owns,
      ...files.owns,
      ...secrets.owns,
      ...units.owns,
      ...playbooks.owns,
    ],
  };
};
