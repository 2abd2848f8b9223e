import { posix } from 'node:path';
import { compareBytes } from '#bundles/digest';
import type { Layer, WrittenObject } from './layer.ts';

/** Where a new object goes: a file of its own, or the end of one that is there. */
export type ChosenFile = { readonly path: string; readonly kind: 'new' | 'append' };

/** Folders of `init` and of Kalypso's own repositories, for a layer without an object of the kind. */
const FOLDERS: Readonly<Record<Layer['form'], Readonly<Record<string, string>>>> = {
  fleet: {
    ClusterType: 'cluster-types',
    SchedulingPolicy: 'policies',
    Config: 'configs',
    ConfigMap: 'configs',
    ConfigSchema: 'schemas',
    Template: 'templates',
    WorkloadRegistration: 'workloads',
    Workspace: 'workspaces',
  },
  kalypso: {
    ClusterType: 'cluster-types',
    SchedulingPolicy: 'scheduling',
    ConfigMap: 'configs',
    ConfigSchema: 'schemas',
    Template: 'templates',
    WorkloadRegistration: 'workloads',
  },
};

/** Layers that have no folders for kinds: a few files beside each other. */
const FLAT = new Set(['root', 'promotion']);

/**
 * Chooses the file for a new object as the layer keeps others of its kind: in the same folder, with the same form of file name, or
 * behind the others where one file holds several.
 */
export const chooseFile = (layer: Layer, kind: string, name: string): ChosenFile => {
  const same = layer.objects.filter((object) => object.kind === kind);
  const shared = sharedFile(same);
  if (shared !== undefined) return { path: shared, kind: 'append' };
  const folder = folderOf(layer, kind, same);
  const { prefix, suffix } = patternOf(same);
  const taken = new Set(layer.files.map(({ path }) => path));
  const candidates = [`${prefix}${name}${suffix}`, `${name}-${kebab(kind)}.yaml`].map((file) =>
    posix.join(folder, file),
  );
  const free = candidates.find((path) => !taken.has(path));
  return free === undefined ? { path: candidates[0] as string, kind: 'append' } : { path: free, kind: 'new' };
};

/** A file with most of the objects, if it has several. */
const sharedFile = (objects: readonly WrittenObject[]): string | undefined => {
  const byFile = Map.groupBy(objects, ({ file }) => file);
  return [...byFile].find(([, inside]) => inside.length > 1 && inside.length * 2 > objects.length)?.[0];
};

const folderOf = (layer: Layer, kind: string, same: readonly WrittenObject[]): string => {
  if (FLAT.has(layer.name)) return same[0] ? posix.dirname(same[0].file) : layer.folder;
  const usual = posix.join(layer.folder, FOLDERS[layer.form][kind] ?? `${kebab(kind)}s`);
  if (same.length === 0) return usual;
  const folders = same.map(({ file }) => posix.dirname(file));
  const common = folders.reduce(commonFolder);
  if (common !== layer.folder && common !== '.') return common;
  // They are all over the layer.
  if (folders.includes(usual)) return usual;
  const counts = [...Map.groupBy(folders, (one) => one)].toSorted(
    ([a, left], [b, right]) => right.length - left.length || compareBytes(a, b),
  );
  return counts[0]?.[0] ?? usual;
};

const commonFolder = (left: string, right: string): string => {
  const [a, b] = [left.split('/'), right.split('/')];
  const differs = a.findIndex((part, at) => part !== b[at]);
  return (differs === -1 ? a : a.slice(0, differs)).join('/') || '.';
};

type Pattern = { readonly prefix: string; readonly suffix: string };

/** The text that most file names have around the name of their object. */
const patternOf = (objects: readonly WrittenObject[]): Pattern => {
  const patterns = objects.flatMap(({ file, name }): readonly string[] => {
    const base = posix.basename(file);
    const at = base.indexOf(name);
    return at === -1 ? [] : [`${base.slice(0, at)}\0${base.slice(at + name.length)}`];
  });
  const counts = [...Map.groupBy(patterns, (one) => one)].toSorted(
    ([a, left], [b, right]) => right.length - left.length || compareBytes(a, b),
  );
  const [prefix = '', suffix = '.yaml'] = counts[0]?.[0].split('\0') ?? [];
  return /^\.ya?ml$|^[a-z0-9_.-]*\.ya?ml$/i.test(suffix)
    ? { prefix, suffix }
    : { prefix: '', suffix: '.yaml' };
};

/** 'ClusterType' -> 'cluster-type'. */
export const kebab = (kind: string): string =>
  kind.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
