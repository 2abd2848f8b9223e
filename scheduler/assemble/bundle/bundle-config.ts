import { defined } from '#bundles/defined';
import {
  type BundleAssignment,
  type BundleConfig,
  type ClosureEntry,
  OBJECT_RULES_CRITICAL,
} from '#bundles/formats/bundle/config';
import { BLOBS_CRITICAL, IMAGES_CRITICAL, SECRETS_CRITICAL } from '#bundles/formats/bundle/host-package';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { CERTIFICATES_CRITICAL, type ImagePolicy, policiesOn } from '#bundles/formats/bundle/image-policy';
import type { ClusterType, DeploymentTarget, Value } from '../../model/model.ts';
import { judgedPart } from '../../model/site-input.ts';
import { SITE_FIELDS_CRITICAL } from '#bundles/formats/bounds/site-fields';
import type { AssembledPackage } from './assembled-package.ts';
import { objectRulesIn } from './object-rules.ts';

/** Names of a bundle, and the images and files that travel with it. */
export type BundleAbout = {
  readonly fleet: string;
  readonly environment: string;
  readonly clusterType: ClusterType;
  readonly closure: readonly ClosureEntry[];
  /** Default: none. */
  readonly policies?: readonly ImagePolicy[] | undefined;
};

export type Layers = {
  /** Assignment id to its layer. */
  readonly layerOf: (id: string) => Digest;
  readonly uncompressed: number;
};

/**
 * The config of a bundle (docs/bundle-format.md section 4).
 * @param packages sorted by id
 * @throws FleetError OBJECT_CLASH for a site input with two schemas
 */
export const bundleConfig = (
  { fleet, environment, clusterType, closure, policies = [] }: BundleAbout,
  packages: readonly AssembledPackage[],
  layers: Layers,
): BundleConfig => {
  const { rules, indicesOf } = objectRulesIn(clusterType, packages);
  return {
    fleet,
    environment,
    clusterType: clusterType.name,
    kind: clusterType.target,
    assignments: packages.map((it) => toAssignment(it, layers.layerOf(it.id), indicesOf(it))),
    ...defined({ objectRules: rules.length > 0 ? rules : undefined }),
    siteInputs: siteInputsOf(packages),
    requirements: requirementsOf(clusterType, layers, closure),
    ...defined({ reboot: clusterType.reboot }),
    // Stable: the entries of one image stay in their order.
    closure: closure.toSorted((a, b) => compareBytes(a.digest, b.digest)),
    ...withObjectRules(
      withSiteFields(
        withSecrets(withImages(withBlobs(imagePolicyOf(policies, closure), packages), packages), packages),
        packages,
      ),
      rules.length > 0,
    ),
  };
};

/** An agent without support for them would correct fields that belong to others. */
const withObjectRules = <T extends Pick<BundleConfig, 'critical'>>(config: T, isNeeded: boolean): T =>
  isNeeded ? { ...config, critical: [...config.critical, OBJECT_RULES_CRITICAL] } : config;

/** Only policies that apply to an image of this bundle, so that other policies do not change its digest. */
const imagePolicyOf = (
  policies: readonly ImagePolicy[],
  closure: readonly ClosureEntry[],
): Pick<BundleConfig, 'imagePolicy' | 'critical'> => {
  const on = new Set(closure.flatMap(({ names = [] }) => policiesOn(policies, names)));
  const imagePolicy = policies.filter((policy) => on.has(policy)).map((policy) => defined(policy));
  if (imagePolicy.length === 0) return { critical: [] };
  const byCertificate = imagePolicy.some(({ certificates }) => certificates);
  return { imagePolicy, critical: ['imagePolicy', ...(byCertificate ? [CERTIFICATES_CRITICAL] : [])] };
};

/** An agent without support for secrets would apply empty Secrets, and encrypted documents unchanged. */
const withSecrets = <T extends Pick<BundleConfig, 'critical'>>(
  config: T,
  packages: readonly AssembledPackage[],
): T =>
  packages.some(({ needsSecrets }) => needsSecrets === true)
    ? { ...config, critical: [...config.critical, SECRETS_CRITICAL] }
    : config;

/** An agent without support for them would not fetch them, and fail when it applies the package. */
const withBlobs = <T extends Pick<BundleConfig, 'critical'>>(
  config: T,
  packages: readonly AssembledPackage[],
): T =>
  packages.some(({ contents = [] }) => contents.length > 0)
    ? { ...config, critical: [...config.critical, BLOBS_CRITICAL] }
    : config;

/** An agent without support for them would not keep the blobs of the images. */
const withImages = <T extends Pick<BundleConfig, 'critical'>>(
  config: T,
  packages: readonly AssembledPackage[],
): T =>
  packages.some(({ imageBlobs = [] }) => imageBlobs.length > 0)
    ? { ...config, critical: [...config.critical, IMAGES_CRITICAL] }
    : config;

/** An agent without support for them would put a number where text belongs, restart nothing and complete nothing. */
const withSiteFields = <T extends Pick<BundleConfig, 'critical'>>(
  config: T,
  packages: readonly AssembledPackage[],
): T =>
  packages.some(
    ({ siteInputs, siteConfigs = [] }) =>
      siteConfigs.length > 0 ||
      siteInputs.some(({ as, restart }) => as !== undefined || restart !== undefined),
  )
    ? { ...config, critical: [...config.critical, SITE_FIELDS_CRITICAL] }
    : config;

const toAssignment = (
  {
    assignment: { target, clusterType },
    id,
    digest,
    namespace,
    contents,
    imageBlobs,
    bounds,
  }: AssembledPackage,
  layer: Digest,
  objects: readonly number[],
): BundleAssignment =>
  defined({
    // Keys in the order of canonical JSON, which then does not sort.
    blobs:
      (contents ?? imageBlobs)
        ? [...new Set([...(contents ?? []).map((one) => one.digest), ...(imageBlobs ?? [])])].toSorted(
            compareBytes,
          )
        : undefined,
    bounds,
    critical: target.critical,
    dependsOn: target.dependsOn.toSorted(compareBytes),
    deploymentTarget: target.shortName,
    id,
    layer,
    namespace,
    package: digest,
    path: id,
    rules: rulesOf(target, clusterType, objects),
    workload: target.workload,
    workspace: target.workspace,
  });

/** The takeover rule of the Workspace, or else of the cluster type. Hosts have none. */
const rulesOf = (
  target: DeploymentTarget,
  clusterType: ClusterType,
  objects: readonly number[],
): BundleAssignment['rules'] => {
  const adopt = target.adopt ?? clusterType.adopt;
  if (clusterType.target !== 'kubernetes' || (adopt === undefined && objects.length === 0)) return undefined;
  return defined({ adopt, objects: objects.length > 0 ? objects : undefined });
};

/** The schema of all site values, and every field that takes one. @throws FleetError OBJECT_CLASH */
const siteInputsOf = (packages: readonly AssembledPackage[]): BundleConfig['siteInputs'] => {
  const properties = new Map<string, { readonly [key: string]: Value }>();
  const fields = packages.flatMap(({ id, siteInputs }) =>
    siteInputs.map(({ schema, ...field }) => {
      const known = properties.get(field.input);
      if (known && judgedPart(known) !== judgedPart(schema)) {
        throw new FleetError(
          'OBJECT_CLASH',
          `site input ${field.input} has two different schemas in this cluster type`,
          { subject: id },
        );
      }
      properties.set(field.input, { ...schema, ...known });
      return { ...field, assignment: id };
    }),
  );
  const schema = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: [...properties]
      .flatMap(([name, one]) => (Object.hasOwn(one, 'default') ? [] : [name]))
      .toSorted(compareBytes),
  };
  const configs = packages.flatMap(({ id, siteConfigs = [] }) =>
    siteConfigs.map((one) => ({ ...one, assignment: id })),
  );
  return defined({ schema, fields, configs: configs.length > 0 ? configs : undefined });
};

/**
 * Disk space in bytes for a first release: twice the size of packages and files, because the old ones stay until the new ones are
 * healthy. Of an image this has the manifest's size only: the agent checks the disk that its provider stores images on.
 */
const requirementsOf = (
  { requirements }: ClusterType,
  { uncompressed }: Layers,
  closure: readonly ClosureEntry[],
): BundleConfig['requirements'] => {
  // An image has several entries if it has many names.
  const sizes = new Map(closure.map(({ digest, size }) => [digest, size]));
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, uncompressed);
  return defined({
    diskBytes: requirements.diskBytes ?? 2 * bytes,
    kubernetes: requirements.kubernetes,
    agent: requirements.agent,
  });
};
