import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, digestOf } from '#bundles/digest';
import type { Imported, ImportedCluster, Unit } from '../imported.ts';

/** A deployment target: one unit, equal on one or more cluster types of an environment. */
export type PlannedTarget = {
  readonly workload: string;
  /** Short name, unique in its workload and environment. */
  readonly name: string;
  readonly environment: string;
  readonly clusters: readonly string[];
  readonly unit: Unit;
  /** Full names of targets. */
  readonly dependsOn: readonly string[];
};

export type EnvironmentOf = (cluster: string) => string;

/** Groups equal units of clusters into deployment targets, so that a unit that is equal on several clusters is written once. */
export const groupTargets = (
  { clusters }: Imported,
  environmentOf: EnvironmentOf,
): readonly PlannedTarget[] => {
  const names = workloadNames(clusters.flatMap(({ units }) => units));
  const groups = new Map<string, { unit: Unit; environment: string; clusters: string[] }>();
  const keyOf = new Map<string, string>();
  for (const cluster of clusters) {
    const keys = contentKeys(cluster);
    for (const unit of cluster.units) {
      const key = `${environmentOf(cluster.name)}\0${unit.id}\0${keys.get(unit.id) ?? ''}`;
      const group = groups.get(key) ?? { unit, environment: environmentOf(cluster.name), clusters: [] };
      group.clusters.push(cluster.name);
      groups.set(key, group);
      keyOf.set(`${cluster.name}\0${unit.id}`, key);
    }
  }
  const all = (environment: string): number =>
    clusters.filter(({ name }) => environmentOf(name) === environment).length;
  const short = new Map<string, string>();
  const taken = new Set<string>();
  for (const [key, group] of groups) {
    const workload = names.get(group.unit.id) ?? '';
    const wanted = setName(group.clusters, all(group.environment));
    let name = wanted;
    for (let number = 2; taken.has(`${group.environment} ${workload} ${name}`); number += 1)
      name = `${wanted}-${number}`;
    taken.add(`${group.environment} ${workload} ${name}`);
    short.set(key, name);
  }
  return [...groups].map(([key, { unit, environment, clusters: on }]) => {
    const fullName = (id: string): string => {
      const other = keyOf.get(`${on[0] ?? ''}\0${id}`) ?? '';
      return `${names.get(id) ?? ''}-${short.get(other) ?? ''}`;
    };
    return {
      workload: names.get(unit.id) ?? '',
      name: short.get(key) ?? '',
      environment,
      clusters: on,
      unit,
      dependsOn: unit.dependsOn.map(fullName).toSorted(),
    };
  });
};

/** The name of a set of clusters of an environment. */
export const setName = (clusters: readonly string[], all: number): string => {
  const [only = ''] = clusters;
  if (clusters.length === 1) return toName(only);
  if (clusters.length === all) return 'everywhere';
  const joined = toName(clusters.join('-and-'));
  return joined.length <= 30 && !joined.includes('--')
    ? joined
    : `on-${clusters.length}-${short8(clusters.join())}`;
};

const short8 = (text: string): string =>
  digestOf(Buffer.from(text)).slice('sha256:'.length, 'sha256:'.length + 6);

/** A digest of a unit and of everything that it depends on. */
const contentKeys = ({ units }: ImportedCluster): ReadonlyMap<string, string> => {
  const byId = new Map(units.map((unit) => [unit.id, unit]));
  const keys = new Map<string, string>();
  const keyOf = (id: string, above: readonly string[]): string => {
    const known = keys.get(id);
    const unit = byId.get(id);
    if (known !== undefined || !unit || above.includes(id)) return known ?? '';
    const depends = unit.dependsOn.map((other) => `${other} ${keyOf(other, [...above, id])}`);
    const key = digestOf(canonicalBytes(JSON.parse(JSON.stringify([plainUnit(unit), depends])), 'doubles'));
    keys.set(id, key);
    return key;
  };
  for (const { id } of units) keyOf(id, []);
  return keys;
};

/** Without places, and with the name of a tree in place of its files. */
const plainUnit = ({ at: _, ...unit }: Unit): unknown => {
  const { content } = unit;
  if (content.kind === 'folder') return { ...unit, content: { ...content, tree: content.tree.id } };
  if (content.kind === 'chart' && content.chart.from === 'tree')
    return { ...unit, content: { ...content, chart: { ...content.chart, tree: content.chart.tree.id } } };
  return unit;
};

/** Workload names by id: the unit's own, with its namespace and kind where two would have the same. */
const workloadNames = (units: readonly Unit[]): ReadonlyMap<string, string> => {
  const byId = new Map(units.map((unit) => [unit.id, unit]));
  const forms = [
    ({ name }: Unit) => toName(name),
    ({ name, qualifier }: Unit) => toName(qualifier === '' ? name : `${qualifier}-${name}`),
    ({ id, name }: Unit) => toName(`${name}-${id.split('/')[0] ?? ''}`),
    ({ id }: Unit) => `${toName(id).slice(0, 30)}-${short8(id)}`,
  ];
  const names = new Map<string, string>();
  let left = [...byId.values()].toSorted((a, b) => compareBytes(a.id, b.id));
  for (const form of forms) {
    const groups = Map.groupBy(left, form);
    const free = (name: string): boolean =>
      ![...names.values()].includes(name) && name.length <= MAX_WORKLOAD;
    const settled = [...groups].filter(([name, group]) => group.length === 1 && name !== '' && free(name));
    for (const [name, [unit]] of settled) if (unit) names.set(unit.id, name);
    left = left.filter(({ id }) => !names.has(id));
  }
  return names;
};

/** With a target's name it has to fit into the 63 characters of a deployment target. */
const MAX_WORKLOAD = 40;

/** A DNS label of a name. */
export const toName = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 50)
    .replace(/-+$/, '');
