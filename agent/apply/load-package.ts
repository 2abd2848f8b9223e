import { unpackLayer } from '#bundles/archive/unpack-layer';
import { packageDigest } from '#bundles/bundle/package-digest';
import { readBundle } from '#bundles/bundle/read-bundle';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readBlob } from '#bundles/layout/verified';
import type { PackageRef } from '../store/package-ref.ts';
import { readSiteValues } from '../store/site-values.ts';
import type { State } from '../store/state.ts';
import { resolveInputs } from './site-inputs.ts';
import type { DesiredPackage } from './target.ts';

/** Of one host package: files of a machine, not images. */
const MAX_LAYER_BYTES = 1 << 30;
const LIMITS = { maxBytes: 2 ** 31 - 1, maxEntries: 200_000 };

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
  const layer = unpackLayer(await readBlob(state.blobs, ref.layer, MAX_LAYER_BYTES, signal), LIMITS);
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
  const { config } = await readBundle(state.blobs, ref.bundle, signal);
  const inputs = resolveInputs(config, readSiteValues(state, ref.siteValues), agent);
  return {
    assignment: ref.assignment,
    package: ref.package,
    siteValues: ref.siteValues,
    files,
    siteInputs: inputs.filter(({ assignment }) => assignment === ref.assignment),
  };
};
