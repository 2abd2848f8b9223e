import { compareBytes } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { objectKey, refuseClashes } from './check-clashes.ts';
import { orderLayers, type Placed } from './config-layers.ts';
import { type Arrival, toDeploymentTargets } from './deployment-targets.ts';
import { BUILT_IN_TEMPLATES } from './fleet/built-in-templates.ts';
import { loadWorkloads } from './load-workloads.ts';
import type { HeldWorkload, Labels, Platform, PlatformForm, SourceSnapshot, Template } from './model.ts';
import {
  type ObjectOf,
  ofKind,
  type PlatformObject,
  type RepositoryFolder,
} from './objects/platform-object.ts';
import type { Problems } from './problems.ts';
import type { Location } from './sources/location.ts';
import type { Source, Sources } from './sources/open-sources.ts';

/** What one source delivers into the environment. */
export type Part = {
  readonly source: Source;
  readonly from: 'base' | 'environment';
  readonly objects: readonly PlatformObject[];
  readonly deliveryLabels: Labels;
};

export type Assembly = {
  readonly form: PlatformForm;
  readonly fleet: string;
  readonly environment: string;
  readonly chain: readonly string[];
  readonly parts: readonly Part[];
  readonly snapshots: readonly SourceSnapshot[];
  /** Does an object of the environment replace one of the base with its kind and name? If not, that is a clash. */
  readonly replaces: boolean;
  readonly holdWorkloads: boolean;
  readonly sources: Sources;
  readonly problems: Problems;
  readonly imageLocks: ReadonlyMap<string, string>;
  readonly locateWorkload: (folder: RepositoryFolder) => { location: Location; path: string };
  readonly registrationLabels: (registration: ObjectOf<'WorkloadRegistration'>) => Labels;
};

/** Puts together what all sources of an environment deliver, applications included. */
export const assemble = async (assembly: Assembly): Promise<Platform> => {
  const { problems } = assembly;
  const placed = uniqueObjects(assembly);
  const objects = placed.map((one) => one.object);
  const workloads = await loadWorkloads(
    assembly.sources,
    ofKind(objects, 'WorkloadRegistration').map((registration) => ({
      registration,
      folder: () => assembly.locateWorkload(registration.workload),
      arrival: {
        workspace: registration.workspace,
        registration: registration.name,
        deliveryLabels: assembly.registrationLabels(registration),
      },
    })),
    assembly.environment,
    assembly.form === 'fleet' ? assembly.chain : [],
  );
  if (!assembly.holdWorkloads) problems.found.push(...workloads.held.flatMap((one) => one.errors));
  const advice: FleetError[] = [...workloads.advice];
  const main = ofKind(objects, 'BaseRepo').find((base) => base.name === 'main');
  return {
    form: assembly.form,
    fleet: assembly.fleet,
    environment: assembly.environment,
    chain: assembly.chain,
    promotedCommit: main?.commit,
    templates: templatesOf(assembly.form, objects),
    clusterTypes: byName(ofKind(objects, 'ClusterType').map((object) => object.clusterType)),
    targets: byName([...ownTargets(assembly, placed), ...workloads.targets]),
    policies: byName(ofKind(objects, 'SchedulingPolicy').map((object) => object.policy)),
    configs: orderLayers(assembly.form, placed, advice),
    schemas: byName(ofKind(objects, 'ConfigSchema').map((object) => object.schema)),
    sources: [...assembly.snapshots, ...workloads.snapshots].toSorted((a, b) => compareBytes(a.role, b.role)),
    imageLocks: assembly.imageLocks,
    repositories: new Map(
      ofKind(objects, 'WorkloadRegistration').flatMap(({ name, workload }) =>
        repositoryOf(assembly, name, workload),
      ),
    ),
    ...heldOf(workloads.held),
    ...gitOpsOf(objects),
    ...(advice.length > 0 && { advice }),
  };
};

/** A registration that names no readable place is told by reading it; here it only has no repository. */
const repositoryOf = (
  assembly: Assembly,
  name: string,
  workload: RepositoryFolder,
): readonly [string, { readonly location: Location; readonly path: string }][] => {
  try {
    return [[name, assembly.locateWorkload({ ...workload, path: '.' })]];
  } catch {
    return [];
  }
};

/** All objects of the environment, each kind and name once, with the side they come from. */
const uniqueObjects = (assembly: Assembly): readonly Placed[] => {
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
  // A clash between base objects must be told even where the environment replaces them both.
  const hidden = base.filter(({ object }) => replaced.has(objectKey(object)));
  refuseClashes(
    hidden.map((one) => one.object),
    assembly.problems.found,
  );
  return all.filter(({ object }) => kept.has(object));
};

/** Targets of Workloads that stand in the platform itself: they belong to no workspace. */
const ownTargets = (assembly: Assembly, placed: readonly Placed[]) => {
  const kept = new Set(placed.map((one) => one.object));
  return assembly.parts.flatMap((part) => {
    const arrival: Arrival = { workspace: '', deliveryLabels: part.deliveryLabels };
    return ofKind(part.objects, 'Workload')
      .filter((workload) => kept.has(workload))
      .flatMap((workload) => toDeploymentTargets(workload, assembly.environment, arrival));
  });
};

const templatesOf = (
  form: PlatformForm,
  objects: readonly PlatformObject[],
): ReadonlyMap<string, Template> => {
  const own = ofKind(objects, 'Template').map((object) => object.template);
  const all = form === 'fleet' ? [...BUILT_IN_TEMPLATES, ...own] : own;
  return new Map(all.map((template) => [template.name, template]));
};

const heldOf = (held: readonly HeldWorkload[]): { heldWorkloads?: readonly HeldWorkload[] } =>
  held.length > 0 ? { heldWorkloads: held } : {};

const gitOpsOf = (objects: readonly PlatformObject[]): Pick<Platform, 'gitOps'> => {
  const [first] = byName(ofKind(objects, 'GitOpsRepo'));
  if (!first || first.folder.revision.kind !== 'branch') return {};
  return { gitOps: { repo: first.folder.repo, branch: first.folder.revision.name, path: first.folder.path } };
};

const byName = <T extends { readonly name: string }>(items: readonly T[]): readonly T[] =>
  items.toSorted((a, b) => compareBytes(a.name, b.name));
