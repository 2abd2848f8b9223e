import { FleetError } from '#bundles/errors';
import type { Wanted, WantedDirectory } from '../desired/read-wanted.ts';
import { debKey, directoryKey, fileKey, RAUC_KEY, secretKey, unitKey } from '../owned/owned-state.ts';

/**
 * Refuses a package that lists a path or unit of another package.
 * @throws FleetError PATH_CLAIMED naming both assignments and up to ten of the paths and units
 */
export const checkClaims = (wanted: Wanted, taken: ReadonlyMap<string, string>): void => {
  const claims = [
    ...wanted.directories.map((directory) => ({
      name: displayName(directory),
      keys: [directoryKey(directory.path), fileKey(directory.path), secretKey(directory.path)],
    })),
    ...[...wanted.files.values(), ...wanted.secrets.values()].map(({ path, named }) => ({
      name: displayName({ path, named }),
      keys: [fileKey(path), secretKey(path), directoryKey(path)],
    })),
    ...wanted.units.map(({ name }) => ({ name, keys: [unitKey(name)] })),
    ...(wanted.install?.packages ?? [])
      .filter(({ asDependency }) => !asDependency)
      .map(({ name }) => ({ name: `the Debian package ${name}`, keys: [debKey(name)] })),
    ...(wanted.rauc ? [{ name: 'the system of the host', keys: [RAUC_KEY] }] : []),
  ].flatMap(({ name, keys }) => {
    const owner = keys.map((key) => taken.get(key)).find((other) => other !== undefined);
    return owner === undefined ? [] : [`${name} (of ${owner})`];
  });
  if (claims.length === 0) return;
  const more = claims.length > 10 ? ` and ${claims.length - 10} more` : '';
  throw new FleetError(
    'PATH_CLAIMED',
    `${wanted.assignment} wants what another assignment owns: ${claims.slice(0, 10).join(', ')}${more}`,
    {
      hint: 'Only one package may have a path, unit or Debian package: rename it in one of the two, or leave it to the other',
    },
  );
};

const displayName = ({ path, named }: Pick<WantedDirectory, 'path' | 'named'>): string =>
  path === named ? path : `${named}, which is ${path} on this host`;
