import { posix } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import type { Manifest, SourceTree } from '../imported.ts';
import { groupOf, isYamlFile, kindOf, nameOf, readManifests, textAt } from '../read/manifests.ts';
import { cleanFolder } from '../read/render-folder.ts';
import { isKustomization } from './flux-kinds.ts';

/** A cluster, and the folder that its Flux begins with. */
export type FluxCluster = {
  readonly name: string;
  readonly path: string;
  readonly at: Place;
  /** The Kustomization of `flux bootstrap`; undefined where the repository has none. */
  readonly sync: Manifest | undefined;
};

/**
 * Clusters by their folders: `given` as `<name>=<folder>`; else by the Kustomization that `flux bootstrap` writes (or the sync of a
 * FluxInstance); else the folders below `clusters/`.
 * @throws FleetError USAGE where the repository has no such folder
 */
export const findClusters = (tree: SourceTree, given: readonly string[]): readonly FluxCluster[] => {
  const synced = syncs(tree);
  if (given.length > 0) return given.map((one) => givenCluster(tree, one, synced));
  const covered = (path: string): boolean =>
    synced.some(
      (one) => one.path === path || path.startsWith(`${one.path}/`) || one.path.startsWith(`${path}/`),
    );
  const more = [...new Set([...tree.files.keys()].flatMap((file) => rootsOf(tree, file)))]
    .filter((path) => !covered(path))
    .map((path) => ({ name: posix.basename(path), path, at: { file: tree.shown(path) }, sync: undefined }));
  const found = distinct([...synced, ...more]).toSorted((a, b) => compareBytes(a.name, b.name));
  if (found.length > 0) return found;
  throw new FleetError('USAGE', 'no folder of a cluster is found in the repository', {
    hint: 'Name each with --cluster <name>=<folder>: the path of the Kustomization that flux bootstrap made',
  });
};

/** One cluster for each folder. Those whose folders have the same name are called by the whole path. */
const distinct = (found: readonly FluxCluster[]): readonly FluxCluster[] => {
  const byPath = new Map(found.toReversed().map((one) => [one.path, one]));
  const byName = Map.groupBy(byPath.values(), ({ name }) => name);
  return [...byPath.values()].map((one) =>
    byName.get(one.name)?.length === 1 ? one : { ...one, name: one.path.replaceAll('/', '-') },
  );
};

/** Folders that a file shows to be a cluster's: one with `flux-system/gotk-sync.yaml`, or below `clusters/` with a Kustomization. */
const rootsOf = (tree: SourceTree, file: string): readonly string[] => {
  const [, bootstrapped] = /^(.+)\/flux-system\/gotk-sync\.ya?ml$/.exec(file) ?? [];
  if (bootstrapped !== undefined) return [bootstrapped];
  const [, folder] = /^((?:.*\/)?clusters\/[^/]+)\/.*\.ya?ml$/.exec(file) ?? [];
  const bytes = tree.files.get(file);
  if (folder === undefined || !bytes?.includes('kustomize.toolkit.fluxcd.io')) return [];
  return readManifests(file, file, bytes).some(({ value }) => isKustomization(value)) ? [folder] : [];
};

const givenCluster = (tree: SourceTree, text: string, synced: readonly FluxCluster[]): FluxCluster => {
  const name = text.slice(0, Math.max(0, text.indexOf('=')));
  const path = cleanFolder(text.slice(text.indexOf('=') + 1));
  if (
    !text.includes('=') ||
    name === '' ||
    ![...tree.files.keys()].some((file) => path === '.' || file.startsWith(`${path}/`))
  )
    throw new FleetError('USAGE', `--cluster ${text} names no folder of the repository`, {
      hint: 'Write it like --cluster production=clusters/production',
    });
  const sync = synced.find((one) => one.path === path)?.sync;
  return { name, path, at: { file: tree.shown(path) }, sync };
};

/** The root Kustomization of a bootstrap has the name of its source, and lies in a folder below its own path; one of a folder of `clusters/` may have any name. */
const syncs = (tree: SourceTree): readonly FluxCluster[] =>
  [...tree.files].flatMap(([file, bytes]) => {
    if (!isYamlFile(file)) return [];
    return readManifests(file, tree.shown(file), bytes).flatMap(({ value, at }) => {
      const path = syncPath(value, file);
      if (path === undefined) return [];
      const sync = isKustomization(value) ? value : undefined;
      return [{ name: clusterName(path), path, at, sync }];
    });
  });

const syncPath = (value: Manifest, file: string): string | undefined => {
  if (groupOf(value) === 'fluxcd.controlplane.io' && kindOf(value) === 'FluxInstance') {
    const path = textAt(value, 'spec', 'sync', 'path');
    return path === undefined ? undefined : cleanFolder(path);
  }
  if (!isKustomization(value)) return undefined;
  const path = cleanFolder(textAt(value, 'spec', 'path') ?? '');
  const inside = path === '.' || file.startsWith(`${path}/`);
  const isOfBootstrap =
    nameOf(value) === textAt(value, 'spec', 'sourceRef', 'name') &&
    /(^|\/)flux-system\/|gotk-sync/.test(file);
  return inside && (isOfBootstrap || /(^|\/)clusters\/[^/]+$/.test(path)) ? path : undefined;
};

const clusterName = (path: string): string => (path === '.' ? 'cluster' : posix.basename(path));
