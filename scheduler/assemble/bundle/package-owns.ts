import type { BundleAssignment } from '#bundles/formats/bundle/config';
import { HOST_PACKAGE, type HostPackage, parseHostPackage } from '#bundles/formats/bundle/host-package';
import { packageContent } from './package-content.ts';

/** The names of a host that a package owns: paths, units, Debian packages, its system. */
export const hostOwns = ({ files, secrets, units, install, rauc }: HostPackage): readonly string[] => [
  ...[...files, ...(secrets ?? [])].map(({ path }) => path),
  ...units.map(({ name }) => name),
  ...(install?.packages ?? [])
    .filter(({ asDependency }) => !asDependency)
    .map(({ name }) => `the Debian package ${name}`),
  ...(rauc ? ['the system of the host'] : []),
];

/**
 * The names that a package of an earlier release owns. On a cluster those of its application: the platform's own objects are in the
 * namespace of the assignment, whose name is its own.
 */
export const ownsOf = (
  kind: 'kubernetes' | 'host',
  files: ReadonlyMap<string, Buffer>,
  assignment: Pick<BundleAssignment, 'namespace' | 'bounds'>,
): readonly string[] => {
  if (kind === 'kubernetes') return [...packageContent(kind, files, assignment).values()].flat();
  const document = files.get(HOST_PACKAGE);
  return document ? hostOwns(parseHostPackage(document)) : [];
};
