import { packageDigest } from '#bundles/bundle/package-digest';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { PackageRef } from '../store/package-ref.ts';
import { readSiteValues } from '../store/site-values.ts';
import type { State } from '../store/state.ts';
import { resolveInputs } from './site-inputs.ts';
import type { DesiredPackage } from './target.ts';
import { unpackedLayer } from './unpacked-layer.ts';

/**
 * A package out of the store, verified once more on its way: the layer by its digest, its files by the package's.
 * @param agent whose own site values go over the site's
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, STORE_CORRUPT, SITE_VALUES and those of unpacking
 */
export const loadPackage = async (
  state: State,
  agent: string,
  ref: PackageRef,
  signal: AbortSignal,
): Promise<DesiredPackage> => {
  const { bundle, files: layer } = await unpackedLayer(state, ref, signal);
  const prefix = `${ref.path}/`;
  const files = new Map(
    [...layer]
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, { bytes }]) => [path.slice(prefix.length), bytes] as const),
  );
  const actual = packageDigest([...files].map(([path, bytes]) => ({ path, bytes })));
  if (actual !== ref.package) {
    throw new FleetError(
      'DIGEST_MISMATCH',
      `the layer of ${ref.assignment} holds package ${shortDigest(actual)}, the bundle says ${shortDigest(ref.package)}`,
      { subject: ref.package, hint: 'Tell the platform team: what was signed does not fit together' },
    );
  }
  const inputs = resolveInputs(bundle.config, readSiteValues(state, ref.siteValues), agent);
  return {
    assignment: ref.assignment,
    package: ref.package,
    siteValues: ref.siteValues,
    files,
    siteInputs: inputs.filter(({ assignment }) => assignment === ref.assignment),
  };
};
