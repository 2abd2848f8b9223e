import { isMap } from 'yaml';
import { defined } from '#bundles/defined';
import { isDigest } from '#bundles/digest';
import { sha256 } from './host-fields.ts';
import { kubernetesInput, toKubernetesInput } from './site-input-fields.ts';
import { parseAttachment, TAKE_ALL } from '../../model/images/attachment.ts';
import type { Target, Value } from '../../model/model.ts';
import type { KubernetesInput } from '../../model/site-input.ts';
import type { Revision } from '../../model/location.ts';
import { SHARED_KINDS } from '../../model/promotion.ts';
import { blockText } from '../../model/yaml/block-text.ts';
import { freeRecord, freeValue } from '../../model/yaml/free-value.ts';
import { has, keeping, not } from '../../model/yaml/field-rules.ts';
import {
  BAD,
  count,
  fields,
  flag,
  list,
  mapped,
  name,
  narrowed,
  objectName,
  oneOf,
  optional,
  placed,
  record,
  refuse,
  required,
  type Shape,
  shape,
  text,
  textLike,
} from '../../model/yaml/shape.ts';
import { readBounds, readWorkloadNames } from '../../model/bounds.ts';
import { configSpec, SELECTOR } from './config-fields.ts';
import { clusterTypeFields } from './cluster-type-fields.ts';
import { entryPlaces, fieldPlaces, repositoryPlace } from './field-places.ts';
import { imageFieldsFields } from './image-fields-fields.ts';
import { imagePolicyFields } from './image-policy-fields.ts';
import {
  type KindReader,
  kindReader,
  schedulingPolicy,
  TEMPLATE_FIELDS,
  workloadReader,
} from './kalypso-kinds.ts';
import type { RepositoryFolder, WorkloadTarget } from './platform-object.ts';
import { siteKinds } from './site-kinds.ts';
import { schemaText } from './schema-text.ts';
import { manifests, REGISTRATION, REPO, TARGET, TEMPLATE, WORKLOAD_PATH } from './shared-shapes.ts';
import { PROMOTION_KINDS } from './promotion-kinds.ts';
import { workspaceFields } from './workspace-fields.ts';

export const FLEET_GROUP = 'fleet-ferry';

const architecture = textLike(/^[a-z0-9][a-z0-9-]{1,31}$/, 'is not a Debian architecture like amd64');
const versionRange = textLike(
  /^>=\d+(?:\.\d+){0,2}(?: <\d+(?:\.\d+){0,2})?$/,
  'is not a range of versions',
  'Write it like ">=3.1" or ">=3.1 <4", in quotes',
);
const contentType = textLike(/^[a-z0-9]{1,8}$/, 'is not a file extension like yaml, sh or env');

const environment = fields({
  name: required(name, 'The environment, and its folder below `environments/`.'),
  promotedFrom: optional(
    name,
    undefined,
    'Environment whose promoted candidates this one is built from (docs/promotion.md). Without it every build takes the newest state.',
  ),
  directKinds: optional(
    list(oneOf(...SHARED_KINDS)),
    [],
    'Kinds that grant rights or bring content, and that the folder of this environment may hold although it has `promotedFrom`: they take effect without a promotion. Without it those belong into `base/`.',
  ),
});

const chain = narrowed(list(environment), { minItems: 1, uniqueItems: true }, (read, node, path, reading) => {
  const twice = read.find((one, at) => read.findIndex((other) => other.name === one.name) !== at);
  if (twice) return refuse(reading, node, `${path} names ${twice.name} twice`);
  return read.length > 0 ? read : refuse(reading, node, `${path} is empty`, 'Name at least one environment');
});

/** Text that `parse` accepts; `pattern` expresses the same for the schema. */
const lockedTo = <T>(
  pattern: string,
  wanted: string,
  parse: (value: string) => T | undefined,
  hint?: string,
): Shape<T> =>
  shape({ ...text.schema, pattern }, (node, path, reading) => {
    const value = text(node, path, reading);
    if (value === BAD) return BAD;
    const wrong = `${path} must be ${wanted}, not ${JSON.stringify(value)}`;
    return parse(value) ?? refuse(reading, node, wrong, hint);
  });

const DIGEST = 'sha256:[0-9a-f]{64}';

const major = textLike(/^v[1-9][0-9]*$/, 'is not a major version', 'Write it like v3');

const lockedImage = lockedTo(`^(?:[\\s\\S]*@)?${DIGEST}$`, 'name@sha256:<64 hex digits>', (value) =>
  isDigest(value.slice(value.lastIndexOf('@') + 1)) ? value : undefined,
);

const indexDigest = lockedTo(`^${DIGEST}$`, 'sha256:<64 hex digits>', (value) =>
  isDigest(value) ? value : undefined,
);

const attachment = lockedTo(
  `^(?:sha256-[0-9a-f]{64}\\.(?:sig|att|sbom)@)?${DIGEST}$`,
  'sha256:<64 hex digits>, or sha256-<hex>.sig@sha256:<hex> with .att and .sbom as well',
  parseAttachment,
  'fleet-scheduler images lock --update writes them',
);

const schema: Shape<Value> = shape({ type: ['object', 'string'] }, (node, path, reading) =>
  isMap(node) ? freeValue(node, path, reading) : schemaText(node, path, reading),
);

const repositoryFields = (about: string) =>
  keeping(
    fields({
      repo: required(text, REPO),
      branch: optional(text, undefined, 'Branch to read. Not together with `ref`.'),
      ref: optional(
        text,
        undefined,
        'Branch, tag or commit to read. Without `branch` and `ref` the default branch.',
      ),
      path: optional(text, '.', about),
    }),
    [not(has('branch', 'ref')), (_folder, path) => [`${path} has a branch and a ref`, 'Keep one of them']],
  );

/** @param about describes the path in the repository */
const repositoryFolder = (about: string): Shape<RepositoryFolder> =>
  mapped(repositoryFields(about), ({ repo, branch, ref, path }) => ({
    repo,
    revision: toRevision(branch, ref),
    path,
  }));

const toRevision = (branch: string | undefined, ref: string | undefined): Revision => {
  if (branch !== undefined) return { kind: 'branch', name: branch };
  return ref === undefined ? { kind: 'head' } : { kind: 'any', name: ref };
};

const placedInput: Shape<KubernetesInput> = mapped(placed(kubernetesInput), ({ value, at }) => ({
  ...toKubernetesInput(value),
  at,
}));

const targetFields = fields({
  name: required(name, TARGET.name),
  labels: optional(record(text), {}, TARGET.labels),
  environment: required(name, TARGET.environment),
  manifests: optional(manifests(freeRecord), {}, TARGET.manifests),
  configSchemas: optional(list(text), [], TARGET.configSchemas),
  namespace: optional(
    name,
    undefined,
    'Namespace of its objects on Kubernetes, which the registration has to allow by `fleet-ferry/allow-namespaces`. Default: `<environment>-<cluster type>-<workload>-<name>`.',
  ),
  dependsOn: optional(
    list(name),
    [],
    'Deployment targets, as `<workload>-<target>`, that must be healthy on the same cluster or host before this one is applied.',
  ),
  critical: optional(
    flag,
    false,
    'Stop at this package when it fails: the packages after it in the same release are not applied.',
  ),
  siteInputs: optional(
    list(placedInput),
    [],
    'Values that only a site knows, and the fields of the rendered Kubernetes objects that they go to. Inputs of hosts are in the HostPackage.',
  ),
  siteConfig: optional(
    flag,
    false,
    'All values of the site that the workspace may read are added to the ConfigMap `platform-config`.',
  ),
});

const target: Shape<Omit<WorkloadTarget, 'at'>> = mapped(
  targetFields,
  ({ siteInputs, siteConfig, namespace, ...rest }) => ({
    ...rest,
    ...defined({
      namespace,
      siteInputs: siteInputs.length > 0 ? siteInputs : undefined,
      siteConfig: siteConfig || undefined,
    }),
  }),
);

/** Default templates of a cluster type: the simplest that work for its target. */
const clusterTypeDefaults = (target: Target) =>
  target === 'kubernetes'
    ? { namespaceService: 'namespace', configType: 'configmap' }
    : { namespaceService: 'none', configType: 'env-file' };

/** The kinds of fleet-ferry/v1alpha1. */
export const FLEET_KINDS: Readonly<Record<string, KindReader>> = {
  Fleet: kindReader(
    'The root of a platform repository, `fleet.yaml`: the name of the fleet, which every signature covers, and its environments.',
    name,
    fields({
      environments: required(chain, 'The environments, first one first. Each name appears once.'),
    }),
    (spec, { reading }) => ({
      kind: 'Fleet',
      environments: spec.environments.map((environment) => environment.name),
      entries: spec.environments.map(({ name: own, promotedFrom, directKinds }) =>
        defined({
          name: own,
          promotedFrom,
          directKinds: directKinds.length > 0 ? directKinds : undefined,
        }),
      ),
      entryPlaces: entryPlaces(reading, 'environments'),
    }),
  ),
  ImagesLock: kindReader(
    '`images.lock.yaml` beside `fleet.yaml`: what every image tag, chart version and address means. `fleet-scheduler images lock` writes it.',
    objectName,
    fields({
      images: required(
        record(lockedImage),
        'Image name as manifests write it, to `name@sha256:<digest>`: the manifest for one platform, the index for several.',
      ),
      charts: optional(
        record(lockedImage),
        {},
        'Chart address and version, to the address with the digest of the chart archive.',
      ),
      indexes: optional(
        record(indexDigest),
        {},
        'Manifest digest, to the digest of the index it was chosen from. Signatures are often on the index.',
      ),
      platforms: optional(
        record(list(text)),
        {},
        'Digest of a locked image, to the platforms that it was found to serve. `images lock` looks it up again when a cluster type needs another.',
      ),
      files: optional(
        record(
          fields({
            sha256: required(sha256, 'SHA-256 of the file, 64 hex digits.'),
            size: required(count, 'Size of the file in bytes.'),
          }),
        ),
        {},
        'Address of a file that a HostPackage names, to its digest and size.',
      ),
      debs: optional(
        record(list(text)),
        {},
        'Debian base and package names, to the addresses of these packages and their dependencies. Their digests are in `files`.',
      ),
      attachments: optional(
        record(list(attachment)),
        {},
        'Image digest, to the signatures, attestations and SBOMs that travel with the image.',
      ),
      renderers: optional(
        fields({
          helm: optional(major, undefined, 'Major version of Helm, like `v3`.'),
          kustomize: optional(major, undefined, 'Major version of Kustomize, like `v5`.'),
        }),
        { helm: undefined, kustomize: undefined },
        'Major versions of the programs that render charts and kustomizations: another may write other objects. A change takes effect at the next `images lock --update`.',
      ),
      take: optional(
        fields({
          attachments: optional(
            oneOf('all', 'signatures', 'none'),
            TAKE_ALL.attachments,
            'Which attachments travel with images.',
          ),
          maxBytes: optional(
            count,
            TAKE_ALL.maxBytes,
            'Size limit of one attachment in bytes, its manifest and blobs together. Larger ones are left out.',
          ),
        }),
        TAKE_ALL,
        'Which attachments are taken. A change takes effect at the next `images lock --update`.',
      ),
    }),
    (spec) => ({
      kind: 'ImagesLock',
      // Keys do not collide: a chart's begins with a scheme, an image's does not.
      images: new Map([...Object.entries(spec.images), ...Object.entries(spec.charts)]),
      indexes: new Map(Object.entries(spec.indexes)),
      platforms: new Map(Object.entries(spec.platforms)),
      files: new Map(
        Object.entries(spec.files).map(([url, { sha256: digest, size }]) => [url, { digest, size }]),
      ),
      debs: new Map(Object.entries(spec.debs)),
      attachments: new Map(Object.entries(spec.attachments)),
      take: spec.take,
      renderers: new Map(
        Object.entries(spec.renderers).flatMap(([program, version]) =>
          version === undefined ? [] : [[program, version] as const],
        ),
      ),
    }),
  ),
  DebianBase: kindReader(
    'A freshly installed host. `images lock` lets apt solve the dependencies of Debian packages against it.',
    name,
    fields({
      architecture: required(architecture, 'Debian architecture, like amd64 or arm64.'),
      sources: required(
        text,
        'Package sources, as in a `.sources` file of /etc/apt/sources.list.d. `Signed-By` may hold the key itself.',
      ),
      status: required(text, 'The text of /var/lib/dpkg/status of such a host.'),
      recommends: optional(flag, false, 'Take packages along that others recommend.'),
    }),
    (spec, { metadata, at }) => ({
      kind: 'DebianBase',
      debianBase: { name: metadata.name, ...spec, at },
    }),
  ),
  ImagePolicy: kindReader(
    'Signatures that images must carry. An image that a policy matches and that no listed key signed holds its assignment.',
    objectName,
    imagePolicyFields,
    (spec, { metadata }) => ({
      kind: 'ImagePolicy',
      imagePolicy: { name: metadata.name, ...spec },
    }),
  ),
  ImageFields: kindReader(
    'Where image names stand that no pod template holds: in custom resources, environment variables, arguments and annotations.',
    objectName,
    imageFieldsFields,
    (spec) => ({
      kind: 'ImageFields',
      imageFields: spec,
    }),
  ),
  ClusterType: kindReader(
    'A class of clusters or hosts that get the same packages. Policies and configuration select it by its labels, sites follow it by its name.',
    name,
    clusterTypeFields,
    (spec, { metadata, at, reading }) => {
      const defaults = clusterTypeDefaults(spec.target);
      return {
        kind: 'ClusterType',
        clusterType: {
          name: metadata.name,
          labels: metadata.labels,
          ...spec,
          namespaceService: spec.namespaceService ?? defaults.namespaceService,
          configType: spec.configType ?? defaults.configType,
          requirements: Object.fromEntries(
            Object.entries(spec.requirements).filter(([, value]) => value !== undefined),
          ),
          at,
          places: fieldPlaces(reading, [...TEMPLATE_FIELDS, 'reconcilerVersion', 'objectRules']),
        },
      };
    },
  ),
  Template: kindReader(
    TEMPLATE.about,
    objectName,
    fields({
      type: required(oneOf('reconciler', 'namespace', 'config'), TEMPLATE.type),
      engine: optional(
        oneOf('handlebars', 'go'),
        'handlebars',
        'Language of the manifests: Handlebars, or Go text/template with the functions of sprig.',
      ),
      contentType: optional(contentType, undefined, TEMPLATE.contentType),
      manifests: optional(list(blockText), [], TEMPLATE.manifests),
      versions: optional(
        versionRange,
        undefined,
        'Versions of the reconciler that take what this renders, a semver range like `>=3.1 <4`.',
      ),
    }),
    (spec, { metadata, at }) => ({
      kind: 'Template',
      template: { name: metadata.name, ...spec, at },
    }),
  ),
  Config: kindReader(
    'One layer of configuration. Layers with more labels override those with fewer, and the environment overrides the base. One with a `siteSelector` is for sites (docs/site-values.md).',
    objectName,
    configSpec,
    (spec) => ({
      kind: 'Config',
      config: spec,
    }),
  ),
  ConfigSchema: kindReader(
    'A JSON Schema that the composed configuration of the selected assignments must satisfy. An assignment that fails it is held.',
    objectName,
    fields({
      selector: optional(record(text), {}, SELECTOR),
      schema: required(schema, 'JSON Schema 2020-12, as a mapping or as JSON or YAML text.'),
    }),
    (spec, { metadata, at }) => ({
      kind: 'ConfigSchema',
      schema: { name: metadata.name, ...spec, at },
    }),
  ),
  WorkloadRegistration: kindReader(
    REGISTRATION.about,
    objectName,
    fields({
      workload: required(repositoryFolder(WORKLOAD_PATH), REGISTRATION.workload),
      workspace: optional(name, '', REGISTRATION.workspace),
    }),
    (spec, { metadata, reading }) => ({
      kind: 'WorkloadRegistration',
      ...spec,
      bounds: readBounds(metadata.annotations),
      workloadNames: readWorkloadNames(metadata.annotations),
      ...repositoryPlace(reading),
    }),
  ),
  Workspace: kindReader(
    'Grants of the platform to the applications of one team beyond the defaults. It has the name of the workspace.',
    objectName,
    workspaceFields,
    (spec, { metadata, at }) => ({
      kind: 'Workspace',
      workspace: { name: metadata.name, ...spec, at },
    }),
  ),
  ...siteKinds(repositoryFolder('Folder of the Configs in that repository.')),
  Workload: workloadReader(target, {}),
  SchedulingPolicy: schedulingPolicy,
  ...PROMOTION_KINDS,
};
