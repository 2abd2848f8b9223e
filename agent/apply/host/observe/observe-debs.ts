import type { HostDeb } from '#bundles/formats/bundle/host-package';
import type { Drift } from '../../../model/target.ts';
import { type DpkgState, readDpkg } from '../debs/dpkg-state.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import { type HostTargetOptions, whyInert } from '../host-options.ts';
import { debKey, type Owned } from '../owned-state.ts';

/** Debian packages that are not as the package wants them: named ones, and those that were installed for them. */
export const observeDebs = async (
  options: HostTargetOptions,
  { install }: Wanted,
  { debs }: Owned,
  signal: AbortSignal,
): Promise<readonly Drift[]> => {
  if (!install || whyInert(options) === 'root is not /') return [];
  const dpkg = await readDpkg({ run: options.run, signal });
  return install.packages
    .filter(({ name, asDependency }) => !asDependency || debs.has(name))
    .flatMap((deb) => compare(deb, dpkg.get(deb.name)));
};

const compare = ({ name, version, hold }: HostDeb, state: DpkgState | undefined): readonly Drift[] => {
  const drift = (what: string, message: string): Drift => ({
    key: debKey(name),
    what,
    message: `${name} ${message}`,
  });
  if (!state || state.status === 'removed') return [drift('missing', 'is not installed')];
  if (state.status === 'broken') return [drift('broken', `is ${state.word}`)];
  return [
    ...(state.version === version
      ? []
      : [drift('version', `is installed at ${state.version}, not at ${version}`)]),
    ...(state.hold === (hold === true) ? [] : [drift('hold', hold ? 'is not on hold' : 'is on hold')]),
  ];
};
