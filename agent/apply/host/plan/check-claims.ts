import { FleetError } from '#bundles/errors';
import type { Wanted } from '../desired/read-wanted.ts';
import { debKey, directoryKey, fileKey, secretKey, unitKey } from '../owned-state.ts';

/**
 * Refuses a package that lists a path or unit of another package.
 * @throws FleetError PATH_CLAIMED naming both assignments and up to ten of the paths and units
 */
export const checkClaims = (wanted: Wanted, taken: ReadonlyMap<string, string>): void => {
  const directories = wanted.directories.map(({ path }) => path);
  const claims = [
    ...directories.map((path) => ({ name: path, keys: [directoryKey(path), fileKey(path)] })),
    ...[...wanted.files.keys(), ...wanted.secrets.keys()].map((path) => ({
      name: path,
      keys: [fileKey(path), secretKey(path), directoryKey(path)],
    })),
    ...wanted.units.map(({ name }) => ({ name, keys: [unitKey(name)] })),
    ...(wanted.install?.packages ?? [])
      .filter(({ asDependency }) => !asDependency)
      .map(({ name }) => ({ name: `the Debian package ${name}`, keys: [debKey(name)] })),
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
