import type { HostDeb } from '#bundles/formats/bundle/host-package';
import { type Apt, runQuietly } from './apt.ts';
import type { DpkgState } from './dpkg-state.ts';

/**
 * The packages with the version of the host where that is newer and the release asks only for `atLeast`. dpkg compares.
 * @param dpkg by name
 */
export const newerOnHost = async (
  tools: Pick<Apt, 'run' | 'signal'>,
  packages: readonly HostDeb[],
  dpkg: ReadonlyMap<string, DpkgState>,
): Promise<readonly HostDeb[]> => {
  const isNewer = async (deb: HostDeb, { status, version }: DpkgState): Promise<boolean> => {
    if (!deb.atLeast || status !== 'installed' || version === deb.version) return false;
    const argv = ['dpkg', '--compare-versions', version, 'gt', deb.version];
    return (await runQuietly(tools, argv)).code === 0;
  };
  return await Promise.all(
    packages.map(async (deb) => {
      const state = dpkg.get(deb.name);
      return state && (await isNewer(deb, state)) ? { ...deb, version: state.version } : deb;
    }),
  );
};
