import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { Source } from '../../load/sources/open-sources.ts';
import { findKustomization } from '../../load/sources/kustomization-file.ts';
import { readKustomizeTree } from '../../load/applications/read-kustomize-tree.ts';
import { renderKustomize } from '../../load/applications/render-kustomize.ts';
import type { Tools } from '../../load/applications/tools/tool.ts';
import { writeObject } from '../../model/yaml/write-object.ts';
import type { Given, Manifest, SourceTree } from '../imported.ts';
import {
  isObject,
  isYamlFile,
  kindOf,
  nameOf,
  type PlacedManifest,
  readManifests,
  textAt,
} from './manifests.ts';

export type RenderedFolder = {
  readonly manifests: readonly PlacedManifest[];
  /** Files of a folder without a kustomization. */
  readonly listed: readonly string[] | undefined;
  /** Objects that only `generateName` names. */
  readonly nameless: readonly PlacedManifest[];
  /** Every file that the objects may come from. */
  readonly used: readonly string[];
};

export type FolderToRender = {
  readonly tree: SourceTree;
  readonly path: string;
  readonly overlay: Manifest;
  /** Of a folder without a kustomization: which files count, relative to it. */
  readonly wanted?: (path: string) => boolean;
  /** Of a folder without a kustomization: whether kustomizations of folders below it are not built. */
  readonly isFlat?: boolean;
  readonly subject: string;
};

export type Rendering = { readonly tools: Tools; readonly given: Given; readonly signal: AbortSignal };

/** Folder of the kustomization with the tool's settings; no repository has one of this name. */
const OUTER = '.fleet-ferry-import';
/** Folder of the repository beside it. */
const INNER = '.fleet-ferry-tree';

/**
 * The objects that a folder gives: as Kustomize builds it, or, without a kustomization, those of its YAML files, in folders below too.
 * @throws FleetError as readKustomizeTree and renderKustomize
 */
export const renderFolder = async (folder: FolderToRender, rendering: Rendering): Promise<RenderedFolder> => {
  const made = await renderAll(folder, rendering);
  const [nameless, manifests] = [true, false].map((is) =>
    made.manifests.filter(({ value }) => isNameless(value) === is),
  );
  return { ...made, manifests: manifests ?? [], nameless: nameless ?? [] };
};

const isNameless = (value: Manifest): boolean =>
  nameOf(value) === '' && textAt(value, 'metadata', 'generateName') !== undefined;

const renderAll = async (
  { tree, path, overlay, wanted = () => true, isFlat = false, subject }: FolderToRender,
  { tools, signal }: Rendering,
): Promise<Omit<RenderedFolder, 'nameless'>> => {
  const folder = cleanFolder(path);
  if (folder !== '.' && ![...tree.files.keys()].some((file) => file.startsWith(`${folder}/`)))
    throw new FleetError('REFERENCE_MISSING', `there is no folder ${folder}`, { hint: 'Check the path' });
  const isPlain = isFlat || findKustomization(tree.files, folder) === undefined;
  const listed = isPlain ? listFiles(tree, folder, wanted, isFlat) : undefined;
  if (listed && Object.keys(overlay).length === 0 && listed.every((file) => isYamlFile(file)))
    return { listed, used: listed, manifests: listed.flatMap((file) => readListed(tree, file)) };
  const files = listed ? withListing(tree.files, folder, listed) : tree.files;
  // Beside the repository, not in it: Kustomize refuses a kustomization that contains the one that names it.
  const inside = posix.join(INNER, folder);
  const outer = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [posix.relative(OUTER, inside)],
    ...overlayFor(OUTER, inside, overlay),
  };
  const all = new Map([
    ...[...files].map(([path, bytes]) => [`${INNER}/${path}`, bytes] as const),
    [`${OUTER}/kustomization.yaml`, Buffer.from(writeObject(outer))] as const,
  ]);
  const own = (file: string): string => file.replace(`${INNER}/`, '');
  const shownAt = (file: string): string => tree.shown(own(file));
  const read = async (at: string): Promise<Source> => sourceAt(all, at, shownAt);
  const { source } = await readKustomizeTree(sourceAt(all, OUTER, shownAt), OUTER, read);
  if (source.kind !== 'kustomize') return { manifests: [], listed, used: [] };
  const made = await renderKustomize(
    { ...source, folder: OUTER },
    await tools('kustomize', subject),
    { subject },
    signal,
  );
  const madeFrom = made.madeFrom ?? ((file: string) => file);
  return {
    listed,
    used: [...source.tree.keys()].map(own).filter((file) => tree.files.has(file)),
    manifests: [...made.files].flatMap(([file, bytes]) => {
      const shown = madeFrom(file);
      const original = [...source.tree].find(([one]) => source.shown(one) === shown);
      const name = original ? shownAt(original[0]) : shown;
      const places = original ? readManifests(original[0], name, original[1]) : [];
      return readManifests(file, name, bytes).map((one) => ({
        ...one,
        at: placeIn(one.value, places, name),
      }));
    }),
  };
};

/** Lines of the rendered text mean nothing to the reader: the place is that of the source's object of that kind and name. */
const placeIn = (value: Manifest, places: readonly PlacedManifest[], file: string): PlacedManifest['at'] => {
  const same = places.filter((one) => kindOf(one.value) === kindOf(value));
  const exact = same.find((one) => nameOf(one.value) === nameOf(value));
  return (exact ?? same[0])?.at ?? { file };
};

/** The fields for a kustomization in `outer` that stands over one in `folder`, which `components` are relative to. */
export const overlayFor = (outer: string, folder: string, overlay: Manifest): Manifest => {
  const { components } = overlay;
  if (!Array.isArray(components)) return overlay;
  return {
    ...overlay,
    components: components.map((one) => posix.relative(outer, posix.join(folder, String(one)))),
  };
};

export const cleanFolder = (path: string): string =>
  posix.normalize(path === '' ? '.' : path.replace(/^\/+/, './')).replace(/(?<=.)\/$/, '') || '.';

const readListed = (tree: SourceTree, file: string): readonly PlacedManifest[] =>
  readManifests(file, tree.shown(file), tree.files.get(file) ?? Buffer.alloc(0)).filter(
    ({ value }) => isObject(value) || isNameless(value),
  );

/** YAML files with objects below a folder, and folders below it with a kustomization of their own, as Flux lists them. */
const listFiles = (
  { files }: SourceTree,
  folder: string,
  wanted: (path: string) => boolean,
  isFlat: boolean,
): readonly string[] => {
  const under = folder === '.' ? '' : `${folder}/`;
  const listed = new Set<string>();
  for (const [path, bytes] of files) {
    if (!path.startsWith(under) || !isYamlFile(path) || !wanted(path.slice(under.length))) continue;
    const owner = isFlat ? undefined : ownFolder(files, posix.dirname(path), folder);
    if (owner !== undefined) listed.add(owner);
    else if (readManifests(path, path, bytes).some(({ value }) => isObject(value))) listed.add(path);
  }
  return [...listed].toSorted();
};

/** The outermost folder on the way down to a file that has a kustomization. */
const ownFolder = (files: ReadonlyMap<string, Buffer>, folder: string, top: string): string | undefined => {
  let found: string | undefined;
  for (let at = folder; at !== top && at !== '.'; at = posix.dirname(at))
    if (findKustomization(files, at) !== undefined) found = at;
  return found;
};

/** The files with a kustomization that lists those of a folder without one. */
const withListing = (
  files: ReadonlyMap<string, Buffer>,
  folder: string,
  listed: readonly string[],
): ReadonlyMap<string, Buffer> =>
  new Map([...files, [posix.join(folder, 'kustomization.yaml'), Buffer.from(listingText(folder, listed))]]);

export const listingText = (folder: string, listed: readonly string[]): string =>
  writeObject({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: listed.map((file) => posix.relative(folder, file)),
  });

/** Part of a repository that is in memory, as if it had been read. */
const sourceAt = (
  files: ReadonlyMap<string, Buffer>,
  folder: string,
  shown: (path: string) => string,
): Source => {
  const under = folder === '.' ? '' : `${folder}/`;
  const found = [...files].flatMap(([path, bytes]) =>
    path.startsWith(under) ? [{ path: path.slice(under.length), bytes }] : [],
  );
  return {
    snapshot: { role: 'import', repo: '', path: folder, tree: '', directory: '' },
    files: found,
    location: { kind: 'directory', directory: '', shown: '' },
    prefix: shown(under),
  };
};
