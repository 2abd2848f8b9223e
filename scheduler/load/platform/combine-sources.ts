import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { ContentLocks } from '../../model/content-locks.ts';
import { mayDefineKinds } from '../../model/kubernetes/may-define-kinds.ts';
import { boundOf } from '../../model/limits.ts';
import type { Location } from '../../model/location.ts';
import type {
  HeldWorkload,
  Labels,
  Platform,
  PlatformForm,
  RegisteredRepository,
  SourceSnapshot,
  Template,
} from '../../model/model.ts';
import type { Problems } from '../../model/problems.ts';
import { findMisspelled } from '../../model/selectors/find-misspelled.ts';
import {
  type ObjectOf,
  ofKind,
  type PlatformObject,
  type RepositoryFolder,
} from '../objects/platform-object.ts';
import type { Source, Sources } from '../sources/open-sources.ts';
import { builtInTemplates } from './built-in-templates.ts';
import { objectKey, refuseClashes } from './check-clashes.ts';
import { orderLayers, type Placed } from './config-layers.ts';
import { readDeclarations } from './declarations.ts';
import { type Arrival, toDeploymentTargets } from './deployment-targets.ts';
import type { PlatformRoot } from './find-fleet.ts';
import { readSiteLayers } from './site-layers.ts';
import { loadWorkloads } from './load-workloads.ts';

/** Objects of one source for the environment. */
export type Part = {
  readonly source: Source;
  readonly from: 'base' | 'environment';
  readonly objects: readonly PlatformObject[];
  readonly deliveryLabels: Labels;
};

export type CombineInput = {
  readonly form: PlatformForm;
  readonly fleet: string;
  readonly environment: string;
  readonly chain: readonly string[];
  readonly parts: readonly Part[];
  readonly snapshots: readonly SourceSnapshot[];
  /**
   * Whether an object of the environment replaces one of the base with the same kind and name. If not, that is a NAME_CLASH.
   */
  readonly replaces: boolean;
  readonly holdWorkloads: boolean;
  readonly sources: Sources;
  readonly problems: Problems;
  readonly imageLocks: ReadonlyMap<string, string>;
  readonly imageIndexes: ReadonlyMap<string, string>;
  readonly contentLocks: ContentLocks;
  readonly renderers: PlatformRoot['renderers'];
  readonly imageAttachments: PlatformRoot['imageAttachments'];
  readonly locateWorkload: (folder: RepositoryFolder) => { location: Location; path: string };
  readonly registrationLabels: (registration: ObjectOf<'WorkloadRegistration'>) => Labels;
};

/** Combines what all sources of an environment deliver, with the applications. Mistakes are added to `problems`. */
export const combineSources = async (assembly: CombineInput): Promise<Platform> => {
  const { problems } = assembly;
  const placed = uniqueObjects(assembly);
  const objects = placed.map((one) => one.object);
  const workspaces = workspacesOf(objects);
  const workloads = await loadWorkloads(
    assembly.sources,
    ofKind(objects, 'WorkloadRegistration').map((registration) => {
      const subject = `WorkloadRegistration ${registration.name}`;
      const bound = boundOf(workspaces.workspaces, registration.workspace, subject);
      const granted = workspaces.workspaces?.find(({ name }) => name === registration.workspace);
      return {
        registration,
        folder: () => assembly.locateWorkload(registration.workload),
        arrival: {
          workspace: registration.workspace,
          registration: registration.name,
          bounds: registration.bounds,
          grants: granted?.host,
          adopt: granted?.adopt,
          siteValues: workspaces.workspaces && (granted?.siteValues ?? []),
          packageSeconds: bound.limits.packageSeconds,
          deliveryLabels: {
            ...assembly.registrationLabels(registration),
            // Kalypso has no such label.
            ...defined({ registration: assembly.form === 'fleet' ? registration.name : undefined }),
          },
        },
        bound,
      };
    }),
    assembly.environment,
    assembly.form === 'fleet' ? assembly.chain : [],
  );
  // If the platform itself is invalid nothing is built, so all mistakes are reported together.
  if (!assembly.holdWorkloads || problems.found.length > 0)
    problems.found.push(...workloads.held.flatMap((one) => one.errors));
  const {
    snapshots: configured,
    advice: aboutSites,
    ...siteLayers
  } = await readSiteLayers(
    assembly.sources,
    placed,
    assembly.parts.map(({ source }) => source.prefix),
    assembly.locateWorkload,
  );
  const advice: FleetError[] = [...aboutSites];
  const targets = byName([...ownTargets(assembly, placed), ...workloads.targets]);
  const policies = byName(ofKind(objects, 'SchedulingPolicy').map((object) => object.policy));
  const main = ofKind(objects, 'BaseRepo').find((base) => base.name === 'main');
  return {
    form: assembly.form,
    fleet: assembly.fleet,
    environment: assembly.environment,
    chain: assembly.chain,
    promotedCommit: main?.commit,
    templates: templatesOf(objects),
    clusterTypes: byName(ofKind(objects, 'ClusterType').map((object) => object.clusterType)),
    targets,
    policies,
    configs: orderLayers(assembly.form, placed, advice),
    schemas: byName(ofKind(objects, 'ConfigSchema').map((object) => object.schema)),
    ...siteLayers,
    sources: [...assembly.snapshots, ...workloads.snapshots, ...configured].toSorted((a, b) =>
      compareBytes(a.role, b.role),
    ),
    imageLocks: assembly.imageLocks,
    ...defined({
      contentLocks:
        assembly.contentLocks.files.size > 0 || assembly.contentLocks.debs.size > 0
          ? assembly.contentLocks
          : undefined,
      renderers: assembly.renderers.size > 0 ? assembly.renderers : undefined,
    }),
    ...debianBasesOf(objects),
    ...workspaces,
    ...imagePoliciesOf(objects, assembly.imageIndexes),
    ...imageFieldsOf(objects),
    ...defined({
      imageAttachments: assembly.imageAttachments.size > 0 ? assembly.imageAttachments : undefined,
    }),
    repositories: new Map(
      ofKind(objects, 'WorkloadRegistration').flatMap((registration) => repositoryOf(assembly, registration)),
    ),
    workloadOwners: workloadOwners(ofKind(objects, 'WorkloadRegistration')),
    ...heldOf([...workloads.held, ...misspelledIn({ form: assembly.form, targets, policies })]),
    ...gitOpsOf(objects),
    ...definitionsOf(assembly.parts),
    declarations: readDeclarations({ ...assembly, objects, targets, filled: workloads.filled }),
    ...defined({ advice: advice.length > 0 ? advice : undefined }),
  };
};

const workloadOwners = (
  registrations: readonly ObjectOf<'WorkloadRegistration'>[],
): NonNullable<Platform['workloadOwners']> => {
  const given = byName(registrations).map(({ name, workspace, workloadNames }) => ({
    owner: { registration: name, workspace },
    names: workloadNames,
  }));
  // Of the entries with one key the last one counts: the first registration that lists the name, else the one that is called so.
  return new Map([
    ...given.map(({ owner }) => [owner.registration, owner] as const),
    ...given.toReversed().flatMap(({ owner, names }) => names.map((name) => [name, owner] as const)),
  ]);
};

/** A registration with an invalid location is reported when it is read; here it only has no repository. */
const repositoryOf = (
  assembly: CombineInput,
  { name, workload, workspace }: ObjectOf<'WorkloadRegistration'>,
): readonly [string, RegisteredRepository][] => {
  try {
    const found = assembly.locateWorkload({ ...workload, path: '.' });
    return [[name, { ...found, repo: workload.repo, workspace }]];
  } catch {
    return [];
  }
};

/** All objects of the environment, each kind and name once, with their origin. */
const uniqueObjects = (assembly: CombineInput): readonly Placed[] => {
  const side = (from: Part['from']): readonly Placed[] =>
    assembly.parts
      .filter((part) => part.from === from)
      .flatMap((part) => part.objects.map((object) => ({ object, from })));
  const base = side('base');
  const environment = side('environment');
  const replaced = new Set(assembly.replaces ? environment.map(({ object }) => objectKey(object)) : []);
  const all = [...base.filter(({ object }) => !replaced.has(objectKey(object))), ...environment];
  const kept = new Set(
    refuseClashes(
      all.map((one) => one.object),
      assembly.problems.found,
    ),
  );
  // A clash between base objects is reported even if the environment replaces both.
  const hidden = base.filter(({ object }) => replaced.has(objectKey(object)));
  refuseClashes(
    hidden.map((one) => one.object),
    assembly.problems.found,
  );
  return all.filter(({ object }) => kept.has(object));
};

/** Targets of Workloads in the platform itself, which belong to no workspace, and targets without a Workload. */
const ownTargets = (assembly: CombineInput, placed: readonly Placed[]) => {
  const kept = new Set(placed.map((one) => one.object));
  return assembly.parts.flatMap((part) => {
    const arrival: Arrival = { workspace: '', deliveryLabels: part.deliveryLabels };
    const lone = ofKind(part.objects, 'DeploymentTarget')
      .filter((one) => kept.has(one) && one.target.environment === assembly.environment)
      .map(({ target }) => ({ ...target, labels: { ...target.labels, ...part.deliveryLabels } }));
    const theirs = ofKind(part.objects, 'Workload')
      .filter((workload) => kept.has(workload))
      .flatMap((workload) => toDeploymentTargets(workload, assembly.environment, arrival));
    return [...lone, ...theirs];
  });
};

/** Names of what Kalypso's scheduler wrote without a Template until 2023, and the built-in templates for them. */
const OLD_NAMES = [
  ['configMap', 'configmap'],
  ['envFile', 'env-file'],
] as const;

/** The platform's own templates, and the built-in ones that its cluster types name and it does not define; in both forms. */
const templatesOf = (objects: readonly PlatformObject[]): ReadonlyMap<string, Template> => {
  const own = ofKind(objects, 'Template').map((object) => object.template);
  const named = new Set(
    ofKind(objects, 'ClusterType').flatMap(({ clusterType }) => [
      clusterType.reconciler,
      clusterType.namespaceService,
      clusterType.configType,
    ]),
  );
  const builtIn = builtInTemplates().filter(({ name }) => named.has(name));
  const old = builtInTemplates().flatMap((template) =>
    OLD_NAMES.filter(([, name]) => name === template.name).map(([before]) => [before, template] as const),
  );
  return new Map([
    ...old.filter(([before]) => named.has(before)),
    ...[...builtIn, ...own].map((template) => [template.name, template] as const),
  ]);
};

/** Both fields are absent in a platform without policies. */
const imagePoliciesOf = (
  objects: readonly PlatformObject[],
  imageIndexes: ReadonlyMap<string, string>,
): Pick<Platform, 'imagePolicies' | 'imageIndexes'> => {
  const policies = byName(ofKind(objects, 'ImagePolicy').map((object) => object.imagePolicy));
  return policies.length === 0 ? {} : { imagePolicies: policies, imageIndexes };
};

const debianBasesOf = (objects: readonly PlatformObject[]): Pick<Platform, 'debianBases'> => {
  const debianBases = byName(ofKind(objects, 'DebianBase').map((object) => object.debianBase));
  return debianBases.length === 0 ? {} : { debianBases };
};

const workspacesOf = (objects: readonly PlatformObject[]): Pick<Platform, 'workspaces'> => {
  const workspaces = byName(ofKind(objects, 'Workspace').map((object) => object.workspace));
  return workspaces.length === 0 ? {} : { workspaces };
};

const imageFieldsOf = (objects: readonly PlatformObject[]): Pick<Platform, 'imageFields'> => {
  const fields = byName(ofKind(objects, 'ImageFields')).map((object) => object.imageFields);
  return fields.length === 0 ? {} : { imageFields: fields };
};

const heldOf = (held: readonly HeldWorkload[]): { heldWorkloads?: readonly HeldWorkload[] } =>
  held.length > 0 ? { heldWorkloads: held } : {};

/** Targets with a misspelled label are held like Workloads that cannot be read: sites keep their packages. */
const misspelledIn = (platform: Pick<Platform, 'form' | 'targets' | 'policies'>): readonly HeldWorkload[] =>
  [...findMisspelled(platform)].map(([{ registration, workload, workspace, at }, error]) => ({
    registration: registration ?? workload,
    workspace,
    at,
    errors: [error],
  }));

/** Files that may define kinds: in our form from crds/, in Kalypso's from anywhere. */
const definitionsOf = (parts: readonly Part[]): Pick<Platform, 'definitions'> => {
  const sources = new Set(parts.map(({ source }) => source));
  const definitions = [...sources].flatMap(({ prefix, files }) =>
    files
      .filter(({ bytes }) => mayDefineKinds(bytes))
      .map(({ path, bytes }) => ({ shown: `${prefix}${path}`, bytes })),
  );
  return definitions.length === 0 ? {} : { definitions };
};

const gitOpsOf = (objects: readonly PlatformObject[]): Pick<Platform, 'gitOps'> => {
  const [first] = byName(ofKind(objects, 'GitOpsRepo'));
  if (!first || first.folder.revision.kind !== 'branch') return {};
  return { gitOps: { repo: first.folder.repo, branch: first.folder.revision.name, path: first.folder.path } };
};

const byName = <T extends { readonly name: string }>(items: readonly T[]): readonly T[] =>
  items.toSorted((a, b) => compareBytes(a.name, b.name));
