import { isDeepStrictEqual } from 'node:util';
import { compareBytes } from '#bundles/digest';
import type { Manifest } from '../imported.ts';
import { type KnownCluster, meetsSelector } from '../read/known-clusters.ts';
import { listAt, nameOf, type PlacedManifest, recordAt, textAt, textsAt } from '../read/manifests.ts';
import type { NoteBook } from '../read/notes.ts';
import { type Bundle, isFleetObject } from './find-bundles.ts';

/**
 * Clusters of the file and of Cluster objects in the repository. Where there are none, one for each selector, group and name that a
 * target has: a class of clusters that gets the same.
 */
export const findFleetClusters = (
  given: readonly KnownCluster[],
  objects: readonly PlacedManifest[],
  bundles: readonly Bundle[],
  notes: NoteBook,
): readonly KnownCluster[] => {
  const declared = objects
    .filter(({ value }) => isFleetObject(value, 'Cluster'))
    .map(({ value }) => cluster(nameOf(value), textsAt(value, 'metadata', 'labels')));
  const known = [...given, ...declared.filter((one) => !given.some(({ name }) => name === one.name))];
  const groups = objects.filter(({ value }) => isFleetObject(value, 'ClusterGroup'));
  const grouped = known.map((one) => ({
    ...one,
    groups: [
      ...one.groups,
      ...groups
        .filter(({ value }) => meetsSelector(recordAt(value, 'spec', 'selector'), one.labels))
        .map(({ value }) => nameOf(value)),
    ],
  }));
  if (grouped.length > 0) return grouped;
  const classes = new Map<string, KnownCluster>();
  for (const { targets = [], spec } of bundles)
    for (const target of [...targets, ...customizations(spec)]) {
      const found = classOf(target, notes);
      if (!found) continue;
      const name = isOther(classes.get(found.name), found) ? longName(found) : found.name;
      classes.set(name, { ...found, name });
    }
  if (classes.size === 0) return [cluster('default', {})];
  notes.add('told', { file: 'fleet.yaml' }, 'clusters', {
    what: `no cluster is known, so there is a cluster type for each selector: ${[...classes.keys()].toSorted().join(', ')}`,
    todo: 'For clusters that several selectors match, list them in a file: - {name: plant-7, labels: {env: prod}}, and import with --clusters FILE',
  });
  return [...classes.values()];
};

const cluster = (
  name: string,
  labels: KnownCluster['labels'],
  groups: readonly string[] = [],
): KnownCluster => ({
  name,
  server: '',
  labels,
  annotations: {},
  values: {},
  groups,
});

export const customizations = (spec: Manifest): readonly Manifest[] =>
  [...listAt(spec, 'targetCustomizations'), ...listAt(spec, 'targets')] as readonly Manifest[];

const classOf = (target: Manifest, notes: NoteBook): KnownCluster | undefined => {
  const [name, group] = [textAt(target, 'clusterName'), textAt(target, 'clusterGroup')];
  if (name !== undefined) return cluster(name, {});
  if (group !== undefined) return cluster(group, {}, [group]);
  const labels = textsAt(target, 'clusterSelector', 'matchLabels');
  if (listAt(target, 'clusterSelector', 'matchExpressions').length > 0)
    notes.add('decide', { file: 'fleet.yaml' }, 'clusters', {
      what: 'a target selects by matchExpressions, from which no labels can be derived',
      todo: 'List the clusters with their labels in a file, and import with --clusters FILE',
    });
  if (Object.keys(labels).length === 0) return undefined;
  const values = Object.entries(labels)
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([key, value]) =>
      /^(?:true|false|\d+)$/.test(value) ? `${key.replace(/^.*\//, '')}-${value}` : value,
    );
  return cluster(values.join('-'), labels);
};

const isOther = (known: KnownCluster | undefined, found: KnownCluster): boolean =>
  known !== undefined && !isDeepStrictEqual([known.labels, known.groups], [found.labels, found.groups]);

/** Where two selectors have the same values: with the names of the labels too. */
const longName = ({ name, labels, groups }: KnownCluster): string =>
  [
    ...(groups.length > 0 ? ['group'] : []),
    ...Object.keys(labels)
      .toSorted(compareBytes)
      .map((key) => key.replaceAll(/[^A-Za-z0-9]+/g, '-')),
    name,
  ].join('-');

/** Whether a target means a cluster: all that it says has to hold, and one that says nothing means all. */
export const meansCluster = (target: Manifest, { name, labels, groups }: KnownCluster): boolean => {
  const { clusterName, clusterGroup, clusterSelector, clusterGroupSelector } = target;
  if (clusterGroupSelector !== undefined) return false;
  return (
    (typeof clusterName !== 'string' || clusterName === '' || clusterName === name) &&
    (typeof clusterGroup !== 'string' || clusterGroup === '' || groups.includes(clusterGroup)) &&
    (clusterSelector === undefined || meetsSelector(clusterSelector, labels))
  );
};
