import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import type { DesiredPackage } from '../../../model/target.ts';
import { debKey, directoryKey, fileKey, RAUC_KEY, secretKey, unitKey } from './owned-state.ts';

/**
 * Keys of the paths, units, Debian packages and the system that a package has, of which no other package may have any (check-claims.ts). A path
 * counts whatever it is. @throws FleetError BUNDLE_FORMAT
 */
export const keysClaimed = ({ files }: DesiredPackage): ReadonlySet<string> => {
  const spec = parseHostPackage(files.get('package.json') ?? Buffer.alloc(0));
  const paths = [...spec.directories, ...spec.files, ...(spec.secrets ?? [])].map(({ path }) => path);
  const debs = (spec.install?.packages ?? []).filter(({ asDependency }) => !asDependency);
  return new Set([
    ...paths.flatMap((path) => [fileKey(path), secretKey(path), directoryKey(path)]),
    ...spec.units.map(({ name }) => unitKey(name)),
    ...debs.map(({ name }) => debKey(name)),
    ...(spec.rauc ? [RAUC_KEY] : []),
  ]);
};
