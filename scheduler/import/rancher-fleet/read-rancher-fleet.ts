import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { Imported, Manifest, ObjectAnnotation, Unit } from '../imported.ts';
import type { KnownCluster } from '../read/known-clusters.ts';
import { annotateAll, kindOf, listAt, nameOf, recordAt, textAt } from '../read/manifests.ts';
import { mergeValues } from '../read/merge-values.ts';
import { namespaceUnit, withoutTwice } from '../read/namespace-unit.ts';
import { type NoteBook, openNotes } from '../read/notes.ts';
import type { Repository } from '../read/open-repository.ts';
import type { Rendering } from '../read/render-folder.ts';
import { type BundleContext, readContent } from './bundle-content.ts';
import { type Bundle, findBundles, fleetObjects } from './find-bundles.ts';
import { customizations, findFleetClusters, meansCluster } from './fleet-clusters.ts';

export type RancherFleetOptions = Rendering & {
  readonly repository: Repository;
  /** Folders as `paths` of a GitRepo. */
  readonly roots: readonly string[];
  readonly clusters: readonly KnownCluster[];
};

/** Reads the units that Rancher Fleet deploys on each cluster. @throws FleetError USAGE for a repository without bundles */
export const readRancherFleet = async (options: RancherFleetOptions): Promise<Imported> => {
  const notes = openNotes();
  const { repository } = options;
  const objects = fleetObjects(repository.tree);
  const bundles = findBundles(repository, options.roots, objects, notes);
  if (bundles.length === 0)
    throw new FleetError('USAGE', 'the repository has no fleet.yaml', {
      hint: 'Name the paths of its GitRepo with --root <folder>',
    });
  const clusters = findFleetClusters(options.clusters, objects, bundles, notes);
  const context: BundleContext = { tree: repository.tree, rendering: options, notes };
  const imported = [];
  for (const cluster of clusters.toSorted((a, b) => compareBytes(a.name, b.name))) {
    const units: Unit[] = [];
    for (const bundle of bundles) units.push(...(await readUnits(bundle, cluster, bundles, context)));
    imported.push({ name: cluster.name, labels: cluster.labels, units: withoutTwice(units) });
  }
  return { clusters: imported, notes: notes.all() };
};

const readUnits = async (
  bundle: Bundle,
  cluster: KnownCluster,
  bundles: readonly Bundle[],
  context: BundleContext,
): Promise<readonly Unit[]> => {
  const { notes } = context;
  if (bundle.targets && !bundle.targets.some((target) => meansCluster(target, cluster))) return [];
  const change = customizations(bundle.spec).find((one) => meansCluster(one, cluster));
  if (change?.['doNotDeploy'] === true) return [];
  const spec = change ? withChange(bundle.spec, change) : bundle.spec;
  const subject = `bundle ${bundle.name}`;
  if (spec['paused'] === true) {
    notes.add('unmapped', bundle.at, subject, {
      what: 'it is paused, so Fleet changes nothing of it',
      todo: 'Resume it and import again, or leave it out',
    });
    return [];
  }
  noteFields(bundle, subject, notes);
  const forced = textAt(spec, 'namespace') ?? '';
  const namespace = forced === '' ? (textAt(spec, 'defaultNamespace') ?? 'default') : forced;
  const content = await readContent(bundle, { spec, cluster, namespace, isForced: forced !== '' }, context);
  if (!content || content.objects?.length === 0) return [];
  const space = namespaceUnit(namespace, bundle.at, {
    labels: spec['namespaceLabels'],
    annotations: spec['namespaceAnnotations'],
  });
  return [
    space,
    {
      id: `Bundle//${bundle.name}`,
      name: bundle.name,
      qualifier: '',
      workspace: '',
      at: bundle.at,
      namespace,
      dependsOn: [space.id, ...dependencies(bundle, bundles)],
      content,
      annotations: annotationsOf(spec, content.objects, bundle, notes),
    },
  ];
};

/** Values are merged, everything else that a target says replaces what the bundle says. */
const withChange = (spec: Manifest, change: Manifest): Manifest => {
  const { name: _, clusterSelector: __, clusterGroup: ___, clusterName: ____, ...fields } = change;
  return mergeValues(spec, fields);
};

const dependencies = (bundle: Bundle, bundles: readonly Bundle[]): readonly string[] =>
  listAt(bundle.spec, 'dependsOn').flatMap((one) => {
    const name = textAt(one, 'name') ?? '';
    const labels = recordAt(one, 'selector', 'matchLabels');
    const isMeant = (other: Bundle): boolean =>
      name === ''
        ? Object.keys(labels).length > 0 &&
          Object.entries(labels).every(([key, value]) => recordAt(other.spec, 'labels')[key] === value)
        : other.name === name || name.endsWith(`-${other.name}`);
    return bundles
      .filter((other) => other !== bundle && isMeant(other))
      .map((other) => `Bundle//${other.name}`);
  });

/** `keepResources` and `diff.comparePatches` as annotations of ours. */
const annotationsOf = (
  spec: Manifest,
  objects: readonly Manifest[] | undefined,
  bundle: Bundle,
  notes: NoteBook,
): readonly ObjectAnnotation[] => {
  const patches = listAt(spec, 'diff', 'comparePatches').filter(isRecord);
  if (!objects) {
    if (spec['keepResources'] === true || patches.length > 0)
      notes.add('decide', bundle.at, `bundle ${bundle.name}`, {
        what: 'keepResources and diff.comparePatches of a chart from elsewhere are not written, as its objects are not known',
        todo: 'Write objectAnnotations with fleet-ferry/prune: disabled, or fleet-ferry/ignore, into workload.yaml',
      });
    return [];
  }
  const kept =
    spec['keepResources'] === true ? annotateAll(objects, { 'fleet-ferry/prune': 'disabled' }) : [];
  const ignored = patches.flatMap((patch) => {
    const [kind = '', name] = [textAt(patch, 'kind'), textAt(patch, 'name')];
    const pointers = [
      ...listAt(patch, 'operations').flatMap((one) =>
        textAt(one, 'op') === 'remove' ? (textAt(one, 'path') ?? []) : [],
      ),
      ...listAt(patch, 'jsonPointers').filter((one) => typeof one === 'string'),
    ];
    const isMeant = objects.some(
      (one) => kindOf(one) === kind && (name === undefined || nameOf(one) === name),
    );
    return isMeant && pointers.length > 0
      ? [{ kind, name: name ?? '*', set: { 'fleet-ferry/ignore': pointers.join(',') } }]
      : [];
  });
  return [...kept, ...ignored];
};

const READ = new Set([
  'namespace',
  'defaultNamespace',
  'helm',
  'kustomize',
  'yaml',
  'targetCustomizations',
  'targets',
  'dependsOn',
  'paused',
  'keepResources',
  'diff',
  'labels',
  'namespaceLabels',
  'namespaceAnnotations',
  'name',
]);
const OWN_WAY = new Set(['rolloutStrategy', 'correctDrift', 'ignore']);

const noteFields = ({ spec, at }: Bundle, subject: string, notes: NoteBook): void => {
  const named = Object.keys(spec).filter((field) => !READ.has(field));
  const own = named.filter((field) => OWN_WAY.has(field));
  if (own.length > 0)
    notes.add('told', at, subject, {
      what: `${own.join(', ')} ${own.length === 1 ? 'is' : 'are'} not written: rollouts, corrections and health are the fleet's own`,
      todo: 'See RolloutPolicy (docs/promotion.md) and the annotations in docs/kubernetes.md',
    });
  for (const field of named.filter((one) => !OWN_WAY.has(one)))
    notes.add('unmapped', at, subject, {
      what: `${field} has no counterpart`,
      todo: 'Check whether it is needed',
    });
};
