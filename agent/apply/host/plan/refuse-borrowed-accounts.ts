import { borrowedAccounts } from '#bundles/formats/bounds/host-violations';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { DesiredPackage, OwnedObject } from '../../../model/target.ts';
import type { Accounts } from '../live/accounts.ts';
import { readOwned } from '../owned/owned-state.ts';

const MAX_NAMED = 5;

/**
 * Refuses a package of a team that would run a service as an account of this host that its workspace was not granted: systemd gives a service
 * with DynamicUser= the account of its unit's name, if the host has one. The build knows only the accounts of Debian itself.
 * @param owned what the package has on the host: an installed service is corrected without a new check, as long as its file stays the same
 * @throws FleetError OUT_OF_BOUNDS
 */
export const refuseBorrowedAccounts = (
  { assignment, bounds, files }: DesiredPackage,
  { users, groups }: Accounts,
  owned: readonly OwnedObject[],
): void => {
  const document = files.get('package.json');
  if (bounds === undefined || typeof bounds === 'string' || !document) return;
  const spec = parseHostPackage(document);
  const installed = readOwned(owned).files;
  const isInstalled = (index: number): boolean => {
    const file = spec.files[index];
    return file !== undefined && installed.get(file.path)?.digest === file.digest;
  };
  const found = borrowedAccounts(
    spec,
    bounds,
    (file) => ('content' in file ? files.get(file.content) : undefined),
    (name) => name === 'root' || users?.has(name) === true || groups?.has(name) === true,
  ).filter(({ index }) => !isInstalled(index));
  if (found.length === 0) return;
  const names = found.map(({ message }) => message);
  throw new FleetError('OUT_OF_BOUNDS', `${assignment}: ${nameSome(names, MAX_NAMED)}`, {
    subject: assignment,
    hint: 'Rename the unit, or let the platform grant the account in host.users of the Workspace; nothing was written',
  });
};
