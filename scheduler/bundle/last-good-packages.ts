import { unpackLayer } from '#bundles/archive/unpack-layer';
import type { BundleAssignment, BundleConfig } from '#bundles/bundle/config';
import { readBundle } from '#bundles/bundle/read-bundle';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { readBlob } from '#bundles/layout/verified';
import { formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root';
import type { Assignment, ClusterType, DeploymentTarget, Value } from '../platform/model.ts';
import { readRelease } from '../publish/read-release.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';

const LIMITS = { maxBytes: 1 << 30, maxEntries: 1_000_000 };

/** Packages of the release before. */
export type LastGood = {
  readonly of: (assignment: Assignment) => AssembledPackage | undefined;
  /** Those of these workspaces whose ids are not `known`: what an unreadable application repository leaves behind. */
  readonly ofWorkspaces: (
    workspaces: ReadonlySet<string>,
    known: ReadonlySet<string>,
  ) => readonly AssembledPackage[];
};

export const NO_LAST_GOOD: LastGood = { of: () => undefined, ofWorkspaces: () => [] };

/**
 * The packages of a channel's newest release in a layout, by assignment: what stands in for a held one. Given on purpose
 * (`--previous`), never taken from hidden state, and said in the bundle statement.
 */
export const readLastGood = async (
  layout: Layout,
  root: TrustRoot,
  environment: string,
  clusterType: ClusterType,
): Promise<LastGood> => {
  const channel = { environment, clusterType: clusterType.name };
  const release = await readRelease(layout, channel, root);
  const digest = release?.subjects.get(`bundle/${clusterType.target}`);
  if (digest === undefined) return NO_LAST_GOOD;
  const { config } = await readBundle(layout.blobs, digest);
  const layers = new Map<string, ReturnType<typeof unpackLayer>>();
  for (const { layer } of config.assignments) {
    if (!layers.has(layer))
      layers.set(layer, unpackLayer(await readBlob(layout.blobs, layer, LIMITS.maxBytes), LIMITS));
  }
  const properties = propertiesOf(config);
  const keep = (known: BundleAssignment, assignment: Assignment): AssembledPackage => {
    const inside = [...(layers.get(known.layer) ?? [])].filter(([path]) => path.startsWith(`${known.path}/`));
    const files = inside.map(([path, { bytes }]) => ({ path: path.slice(known.path.length + 1), bytes }));
    const kept = assembled({
      assignment: {
        ...assignment,
        target: { ...assignment.target, dependsOn: known.dependsOn, critical: known.critical },
      },
      id: known.id,
      namespace: known.namespace,
      files,
      siteInputs: config.siteInputs.fields
        .filter((field) => field.assignment === known.id)
        .map(({ assignment: _, ...field }) => ({ ...field, schema: properties[field.input] ?? {} })),
      owns: [],
      // Its manifests name them as the closure does; those of other packages need not come along.
      images: config.closure
        .flatMap(({ names }) => names ?? [])
        .filter((name) => files.some(({ bytes }) => bytes.includes(name))),
    });
    if (kept.digest === known.package) return kept;
    throw new FleetError(
      'DIGEST_MISMATCH',
      `package ${known.id} of ${formatChannel(channel)} in ${layout.directory} is not what its bundle says`,
    );
  };
  return {
    of: (assignment) => {
      const known = config.assignments.find(({ id }) => id === assignment.target.name);
      return known && keep(known, assignment);
    },
    ofWorkspaces: (workspaces, known) =>
      config.assignments
        .filter(({ id, workspace }) => workspaces.has(workspace ?? '') && !known.has(id))
        .map((it) => keep(it, { clusterType, target: targetOf(it, environment, clusterType), policy: '' })),
  };
};

type Properties = Readonly<Record<string, { readonly [key: string]: Value }>>;

const propertiesOf = ({ siteInputs }: BundleConfig): Properties =>
  (siteInputs.schema as { readonly properties?: Properties }).properties ?? {};

/** What is still known of a deployment target whose Workload cannot be read now. */
const targetOf = (
  known: BundleAssignment,
  environment: string,
  clusterType: ClusterType,
): DeploymentTarget => ({
  name: known.id,
  shortName: known.deploymentTarget ?? known.id,
  workload: known.workload ?? '',
  workspace: known.workspace ?? '',
  environment,
  labels: {},
  manifests: {},
  configSchemas: [],
  dependsOn: known.dependsOn,
  critical: known.critical,
  at: clusterType.at,
});
