import { defined } from '#bundles/defined';
import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import type { BundleAssignment, BundleConfig } from '#bundles/formats/bundle/config';
import { SECRETS_CRITICAL } from '#bundles/formats/bundle/host-package';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { FILE_BLOB } from '#bundles/media-types';
import { formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Content } from '../content/content.ts';
import type { Assignment, ClusterType, DeploymentTarget, HeldWorkload, Value } from '../../model/model.ts';
import { isOf } from '../../load/platform/registration-in.ts';
import { readCurrentBase } from '../../load/releases/read-base.ts';
import { findRevoked, readRevocations } from '../../load/releases/revocation-list.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';
import { ownsOf } from './package-owns.ts';

const LIMITS = { maxBytes: 1 << 30, maxEntries: 1_000_000 };

/** A package of the release before, and the application that it comes from. */
export type UnreadPackage = { readonly kept: AssembledPackage; readonly of: UnreadApplication };

type UnreadApplication = Pick<HeldWorkload, 'registration' | 'workspace' | 'errors'>;

/** Packages of the release before. */
export type LastGood = {
  /** The bundle they are of. */
  readonly bundle?: Digest;
  /** The owners of its names. */
  readonly targets: readonly (Pick<DeploymentTarget, 'workload' | 'workspace'> & { readonly id: string })[];
  /** Workspaces by the site value that their packages read. */
  readonly readers: ReadonlyMap<string, ReadonlySet<string>>;
  readonly config?: BundleConfig;
  readonly of: (assignment: Assignment) => Promise<AssembledPackage | undefined>;
  /** The package of an assignment that is not declared any more. */
  readonly ofId: (id: string) => Promise<AssembledPackage | undefined>;
  /**
   * Packages whose ids are not `known` and that come from one of these applications, whose repositories cannot be read. A package of an
   * unknown registration counts by its workspace.
   */
  readonly ofUnread: (
    unread: readonly UnreadApplication[],
    known: ReadonlySet<string>,
    registrationOf: (id: string) => Promise<string | undefined>,
  ) => Promise<readonly UnreadPackage[]>;
};

export const NO_LAST_GOOD: LastGood = {
  targets: [],
  readers: new Map(),
  of: async () => undefined,
  ofId: async () => undefined,
  ofUnread: async () => [],
};

/**
 * Reads the packages of a channel's newest release in a layout, by assignment: substitutes for held assignments. The layout is
 * given explicitly (`--previous`), and the bundle statement records its use.
 * @param bundle a bundle other than the newest: the one that a candidate names
 */
export const readLastGood = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  environment: string,
  clusterType: ClusterType,
  bundle?: Digest,
): Promise<LastGood> => {
  const channel = { environment, clusterType: clusterType.name };
  const { release } = await readCurrentBase(layout, channel, roots);
  const digest = bundle ?? release?.subjects.get(`bundle/${clusterType.target}`);
  if (digest === undefined) return NO_LAST_GOOD;
  // A revoked package is not used as a substitute.
  if (findRevoked(await readRevocations(layout, roots, channel, release), [digest])) return NO_LAST_GOOD;
  const { config } = await readBundle(layout.blobs, digest);
  // Layers are unpacked only for held assignments, usually none.
  const layers = new Map<Digest, ReturnType<typeof unpackLayer>>();
  const filesOf = async (layer: Digest): Promise<ReturnType<typeof unpackLayer>> => {
    const files =
      layers.get(layer) ?? unpackLayer(await readBlob(layout.blobs, layer, LIMITS.maxBytes), LIMITS);
    layers.set(layer, files);
    return files;
  };
  const properties = propertiesOf(config);
  const keep = async (known: BundleAssignment, assignment: Assignment): Promise<AssembledPackage> => {
    const inside = [...(await filesOf(known.layer))].filter(([path]) => path.startsWith(`${known.path}/`));
    const files = inside.map(([path, { bytes }]) => ({ path: path.slice(known.path.length + 1), bytes }));
    const contents = (known.blobs ?? [])
      .filter((digest) => isFile(digest, config))
      .map((digest) => contentIn(digest, config, layout.blobs));
    const kept = assembled({
      assignment: {
        ...assignment,
        target: { ...assignment.target, ...provenanceOf(known, assignment.target) },
      },
      id: known.id,
      namespace: known.namespace,
      files,
      siteInputs: config.siteInputs.fields
        .filter((field) => field.assignment === known.id)
        .map(({ assignment: _, ...field }) => ({ ...field, schema: properties[field.input] ?? {} })),
      ...siteConfigsOf(config, known.id),
      owns: ownsOf(config.kind, new Map(files.map(({ path, bytes }) => [path, Buffer.from(bytes)])), known),
      ...defined({
        needsSecrets:
          config.kind === 'kubernetes' && config.critical.includes(SECRETS_CRITICAL) ? true : undefined,
      }),
      // Only images that the manifests of this package name are kept, by their names in the closure.
      images: config.closure
        .flatMap(({ names }) => names ?? [])
        .filter((name) => files.some(({ bytes }) => bytes.includes(name))),
      ...defined({ contents: contents.length > 0 ? contents : undefined, bounds: known.bounds }),
    });
    if (kept.digest === known.package) return kept;
    throw new FleetError(
      'DIGEST_MISMATCH',
      `package ${known.id} of ${formatChannel(channel)} in ${layout.directory} is not what its bundle says`,
    );
  };
  const keepAlone = async (known: BundleAssignment): Promise<AssembledPackage> =>
    keep(known, { clusterType, target: targetOf(known, environment, clusterType), policy: '' });
  return {
    bundle: digest,
    targets: config.assignments.map(({ id, workload = '', workspace = '' }) => ({ id, workload, workspace })),
    readers: readersOf(config),
    config,
    of: async (assignment) => {
      const known = config.assignments.find(({ id }) => id === assignment.target.name);
      return known && (await keep(known, assignment));
    },
    ofId: async (id) => {
      const known = config.assignments.find((one) => one.id === id);
      return known && (await keepAlone(known));
    },
    ofUnread: async (unread, known, registrationOf) => {
      const found: UnreadPackage[] = [];
      if (unread.length === 0) return found;
      for (const it of config.assignments) {
        if (known.has(it.id)) continue;
        const from = await registrationOf(it.id);
        const of = unread.find((one) => isOf(one, it.workspace, from));
        if (of) found.push({ kept: await keepAlone(it), of });
      }
      return found;
    },
  };
};

/** The owner that the package was built for. The assignment of its name may be another's now. */
const provenanceOf = (
  { dependsOn, critical, workspace, workload, deploymentTarget }: BundleAssignment,
  now: DeploymentTarget,
): Partial<DeploymentTarget> => ({
  dependsOn,
  critical,
  workspace: workspace ?? now.workspace,
  workload: workload ?? now.workload,
  shortName: deploymentTarget ?? now.shortName,
});

const readersOf = ({ assignments, siteInputs }: BundleConfig): LastGood['readers'] => {
  const workspaces = new Map(assignments.map(({ id, workspace }) => [id, workspace ?? '']));
  return new Map(
    [...Map.groupBy(siteInputs.fields, ({ input }) => input)].map(([input, fields]) => [
      input,
      new Set(fields.map(({ assignment }) => workspaces.get(assignment) ?? '')),
    ]),
  );
};

/** False for a blob of an image, which is found again by the image. */
const isFile = (digest: Digest, { closure }: BundleConfig): boolean =>
  closure.some((entry) => entry.digest === digest && entry.mediaType === FILE_BLOB);

/** readBundle has checked that the closure names it. */
const contentIn = (digest: Digest, { closure }: BundleConfig, source: BlobSource): Content => ({
  digest,
  size: closure.find((entry) => entry.digest === digest)?.size ?? 0,
  source,
});

type Properties = Readonly<Record<string, { readonly [key: string]: Value }>>;

const siteConfigsOf = (
  { siteInputs: { configs = [] } }: BundleConfig,
  id: string,
): Pick<AssembledPackage, 'siteConfigs'> => {
  const own = configs.filter(({ assignment }) => assignment === id);
  return own.length === 0 ? {} : { siteConfigs: own.map(({ assignment: _, ...one }) => one) };
};

const propertiesOf = ({ siteInputs }: BundleConfig): Properties =>
  (siteInputs.schema as { readonly properties?: Properties }).properties ?? {};

/** Reconstructs a deployment target whose Workload cannot be read. */
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
