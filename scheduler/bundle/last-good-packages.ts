import { unpackLayer } from '#bundles/archive/unpack-layer';
import { readBundle } from '#bundles/bundle/read-bundle';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { readBlob } from '#bundles/layout/verified';
import { formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root';
import type { Assignment, ClusterType, Value } from '../platform/model.ts';
import { readRelease } from '../publish/read-release.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';

const LIMITS = { maxBytes: 1 << 30, maxEntries: 1_000_000 };

/**
 * The packages of a channel's newest release in a layout, by assignment: what stands in for a held one. Given on purpose
 * (`--previous`), never taken from hidden state, and said in the bundle statement.
 */
export const readLastGood = async (
  layout: Layout,
  root: TrustRoot,
  environment: string,
  clusterType: ClusterType,
): Promise<(assignment: Assignment) => AssembledPackage | undefined> => {
  const channel = { environment, clusterType: clusterType.name };
  const release = await readRelease(layout, channel, root);
  const digest = release?.subjects.get(`bundle/${clusterType.target}`);
  if (digest === undefined) return () => undefined;
  const { config } = await readBundle(layout.blobs, digest);
  const layers = new Map<string, ReturnType<typeof unpackLayer>>();
  for (const { layer } of config.assignments) {
    if (!layers.has(layer))
      layers.set(layer, unpackLayer(await readBlob(layout.blobs, layer, LIMITS.maxBytes), LIMITS));
  }
  return (assignment) => {
    const known = config.assignments.find(({ id }) => id === assignment.target.name);
    const files = known && layers.get(known.layer);
    if (!known || !files) return undefined;
    const inside = [...files].filter(([path]) => path.startsWith(`${known.path}/`));
    const properties =
      (config.siteInputs.schema as { properties?: Record<string, { [key: string]: Value }> }).properties ??
      {};
    const kept = assembled({
      assignment: {
        ...assignment,
        target: { ...assignment.target, dependsOn: known.dependsOn, critical: known.critical },
      },
      id: known.id,
      namespace: known.namespace,
      files: inside.map(([path, { bytes }]) => ({ path: path.slice(known.path.length + 1), bytes })),
      siteInputs: config.siteInputs.fields
        .filter((field) => field.assignment === known.id)
        .map(({ assignment: _, ...field }) => ({ ...field, schema: properties[field.input] ?? {} })),
      owns: [],
      images: config.closure.flatMap(({ names }) => names ?? []),
    });
    if (kept.digest === known.package) return kept;
    throw new FleetError(
      'DIGEST_MISMATCH',
      `package ${known.id} of ${formatChannel(channel)} in ${layout.directory} is not what its bundle says`,
    );
  };
};
