import type { DesiredPackage, OwnedObject, Plan } from '../../../model/target.ts';
import { readWanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { readAccounts } from '../live/accounts.ts';
import { placesOf } from '../live/read-places.ts';
import { locate } from '../desired/locate.ts';
import { currentKeys } from '../owned/current-keys.ts';
import { refuseBorrowedAccounts } from './refuse-borrowed-accounts.ts';
import { refuseOwnPlaces } from './refuse-own-places.ts';
import { planImages } from './plan-images.ts';
import { planPlaybooks } from '../playbooks/plan-playbooks.ts';
import { parentKey, readOwned } from '../owned/owned-state.ts';
import { planSettings } from './plan-settings.ts';
import { programFor, settingRecord } from '../settings/setting.ts';
import { readForeign } from '../systemd/foreign-files.ts';
import { packageUnit } from '../systemd/package-unit.ts';
import { readQuadlets } from '../systemd/quadlets.ts';
import { readUnits } from '../systemd/unit-state.ts';
import { checkClaims } from './check-claims.ts';
import type { UnitContext } from './plan-context.ts';
import { planDirectories, wantedFolders } from './plan-directories.ts';
import { planDebs } from './plan-debs.ts';
import { type FileChange, planFiles } from './plan-files.ts';
import { planRauc } from './plan-rauc.ts';
import { planRemovals } from './plan-removals.ts';
import { planSecrets } from './plan-secrets.ts';
import { planForeign } from './plan-foreign.ts';
import { planUnits } from './plan-units.ts';

/**
 * Plans the steps from the live state to the desired state, in this order: the system, with its reboot, stop units that are removed (while their files exist),
 * Debian packages (which bring units and users), images, remove entries of another type, then accounts, directories, files,
 * removals, settings, daemon-reload, playbooks and units, and at last images that nothing runs any more.
 * @throws FleetError PATH_CLAIMED, OUT_OF_BOUNDS, TOOL_MISSING, RAUC_BLOCKED, RAUC_FAILED, APPLY_FAILED, UNIT_FAILED; as readWanted and readEntryIn
 */
export const planHost = async (
  options: HostTargetOptions,
  desired: DesiredPackage | undefined,
  owned: readonly OwnedObject[],
  taken: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Plan> => {
  const written = desired && readWanted(desired);
  const places = placesOf(options.root);
  const wanted = written && (await locate(written, places));
  const names = await currentKeys(places, [...owned.map(({ key }) => key), ...taken.keys()]);
  const others = new Map([...taken].map(([key, other]) => [names.get(key) ?? key, other]));
  if (wanted) {
    checkClaims(wanted, others);
    await refuseOwnPlaces(options, wanted, places);
  }
  const quadlets = await readQuadlets(options, written, signal);
  const accounts = await readAccounts(options.root);
  if (desired) refuseBorrowedAccounts(desired, accounts, owned);
  const inventory = readOwned(owned, names);
  const asked = [...(wanted?.units ?? []).map(({ name }) => name), ...inventory.units.keys()];
  const seen = options.services === 'none' ? new Map() : await readUnits(options, asked, signal);
  const context: UnitContext = {
    options,
    places,
    wanted,
    owned: inventory,
    taken: others,
    accounts,
    seen,
    quadlets,
    units: (wanted?.units ?? []).map(({ name }) => packageUnit(name, seen.get(name), inventory, quadlets)),
    signal,
  };

  // Its repository and hooks are read from the package, by their names there.
  const debs = await planDebs({ ...context, wanted: written });
  const rauc = await planRauc(context, desired?.ranBefore === true);
  const images = await planImages(context);
  const removals = await planRemovals(context, wantedFolders(wanted));
  const early = removals.list.filter((removal) => removal.early);
  const makesRoom = new Set(early.map(({ path }) => path).filter((path) => removals.gone.has(path)));
  const directories = await planDirectories(context, makesRoom);
  const files = await planFiles(context, makesRoom);
  const secrets = await planSecrets(context, makesRoom);
  const found = wanted
    ? await readForeign(options, context.units, { places, wanted, owned: inventory, taken: others }, signal)
    : new Map<string, never>();
  const foreign = planForeign(context, found);
  const namesOf = (path: string): readonly string[] => [
    ...new Set([path, wanted?.files.get(path)?.named ?? inventory.files.get(path)?.named ?? path]),
  ];
  const changed = new Set(
    [...files.list, ...secrets.list, ...removals.list, ...foreign]
      .filter((one) => one.changes)
      .flatMap(({ path }) => namesOf(path)),
  );
  const units = await planUnits(context, { changed, found: files.found, foreign: found });

  const playbooks = await planPlaybooks(options, desired, owned, signal);

  const outdatedBy = (path: string): readonly string[] => {
    const all = namesOf(path);
    const settings = all.filter((name) => programFor(name) !== undefined).map(settingRecord);
    return [...new Set([...all.flatMap(units.outdatedBy), ...settings])];
  };
  const stepsOf = (list: readonly FileChange[]) => list.map(({ path, step }) => step(outdatedBy(path)));
  // Accounts come first, because entries may belong to them.
  const isAccounts = ({ path }: { readonly path: string }): boolean =>
    namesOf(path).some((name) => programFor(name) === 'sysusers');
  const folders = Map.groupBy(
    directories.steps,
    ({ key }) => key === parentKey('/etc') || key === parentKey('/etc/sysusers.d'),
  );
  return {
    steps: [
      // What follows is for the system that runs then.
      ...rauc.steps,
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
      ...stepsOf(foreign),
      ...(await planSettings(context, ['tmpfiles', 'sysctl'])),
      ...units.reload,
      ...playbooks.beforeUnits,
      ...units.steps,
      ...playbooks.afterUnits,
      ...images.removals,
    ],
    owns: [
      ...rauc.owns,
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
