import { posix } from 'node:path';
import { isRecord } from '#bundles/is-record';
import type { Manifest, SourceTree } from '../imported.ts';
import {
  groupOf,
  isYamlFile,
  kindOf,
  listAt,
  nameOf,
  type PlacedManifest,
  readManifests,
  textAt,
} from '../read/manifests.ts';
import type { NoteBook } from '../read/notes.ts';
import { looseKey, type Repository } from '../read/open-repository.ts';
import { LIKE_HELM } from '../read/parse-text.ts';
import { cleanFolder } from '../read/render-folder.ts';

/** A folder that Rancher Fleet deploys as one. */
export type Bundle = {
  readonly path: string;
  /** '<GitRepo>-<path>', as Fleet calls it; without the GitRepo where the repository has none. */
  readonly name: string;
  /** The content of its fleet.yaml. */
  readonly spec: Manifest;
  readonly at: PlacedManifest['at'];
  /** `targets` of its GitRepo; undefined for all clusters. */
  readonly targets: readonly Manifest[] | undefined;
  /** Whether the name of its GitRepo is known. */
  readonly isNamed: boolean;
};

export const isFleetObject = (value: Manifest, kind: string): boolean =>
  groupOf(value) === 'fleet.cattle.io' && kindOf(value) === kind;

/** All fleet.cattle.io objects of the repository. */
export const fleetObjects = ({ files, shown }: SourceTree): readonly PlacedManifest[] =>
  [...files].flatMap(([path, bytes]) =>
    isYamlFile(path) && bytes.includes('fleet.cattle.io')
      ? readManifests(path, shown(path), bytes, LIKE_HELM).filter(
          ({ value }) => groupOf(value) === 'fleet.cattle.io',
        )
      : [],
  );

/**
 * Bundles of the GitRepos that name this repository, else of the given folders, else every folder with a fleet.yaml.
 * @param roots folders, as `paths` of a GitRepo
 */
export const findBundles = (
  { tree, addresses }: Repository,
  roots: readonly string[],
  objects: readonly PlacedManifest[],
  notes: NoteBook,
): readonly Bundle[] => {
  const repos = objects.filter(({ value }) => isFleetObject(value, 'GitRepo'));
  const isOwn = ({ value }: PlacedManifest): boolean =>
    addresses.has(looseKey(textAt(value, 'spec', 'repo') ?? ''));
  const own = roots.length > 0 ? [] : repos.filter(isOwn);
  for (const { value, at } of roots.length > 0 ? [] : repos.filter((one) => !isOwn(one)))
    notes.add('unmapped', at, `GitRepo ${nameOf(value)}`, {
      what: `its repository ${textAt(value, 'spec', 'repo') ?? ''} is not this one`,
      todo: 'Import that repository too, or, if it is this one under another address, say --address <URL>',
    });
  for (const { value, at } of own)
    if (textAt(value, 'spec', 'serviceAccount') !== undefined)
      notes.add('changed', at, `GitRepo ${nameOf(value)}`, {
        what: 'it is applied as a service account',
        todo: 'For the rights of an account, see workspaceAccounts in docs/kubernetes.md',
      });
  const named = own.flatMap(({ value }) => {
    const paths = listAt(value, 'spec', 'paths').filter((one) => typeof one === 'string');
    const targets = listAt(value, 'spec', 'targets').filter(isRecord);
    return (paths.length > 0 ? paths : ['/']).flatMap((path) =>
      below(tree, cleanFolder(path), `${nameOf(value)}-`, targets.length > 0 ? targets : undefined),
    );
  });
  if (named.length > 0) return named;
  if (roots.length > 0) return roots.flatMap((path) => below(tree, cleanFolder(path), '', undefined));
  notes.add('told', { file: 'fleet.yaml' }, 'repository', {
    what: 'no GitRepo names this repository, so every folder with a fleet.yaml is taken, for all clusters',
    todo: 'Name the paths of the GitRepo with --root <folder>, folders without a fleet.yaml too',
  });
  return fleetFolders(tree, '.').map((path) => bundleAt(tree, path, '', undefined));
};

const fleetFile = ({ files }: SourceTree, folder: string): string | undefined =>
  ['fleet.yaml', 'fleet.yml'].map((name) => posix.join(folder, name)).find((file) => files.has(file));

const fleetFolders = (tree: SourceTree, folder: string): readonly string[] => {
  const under = folder === '.' ? '' : `${folder}/`;
  const folders = [...tree.files.keys()]
    .filter((file) => file.startsWith(under) && /^fleet\.ya?ml$/.test(posix.basename(file)))
    .map((file) => posix.dirname(file));
  return [...new Set(folders)].toSorted();
};

/** A path of a GitRepo is a bundle, with or without a fleet.yaml, and so is each folder with one below it. */
const below = (
  tree: SourceTree,
  path: string,
  prefix: string,
  targets: Bundle['targets'],
): readonly Bundle[] => {
  const folders = fleetFolders(tree, path);
  const own = folders.includes(path) || ownFiles(tree, path).length === 0 ? [] : [path];
  return [...own, ...folders].map((folder) => bundleAt(tree, folder, prefix, targets));
};

const bundleAt = (tree: SourceTree, path: string, prefix: string, targets: Bundle['targets']): Bundle => {
  const file = fleetFile(tree, path);
  const [first] =
    file === undefined
      ? []
      : readManifests(file, tree.shown(file), tree.files.get(file) ?? Buffer.alloc(0), LIKE_HELM);
  return {
    path,
    name:
      `${prefix}${path === '.' ? '' : path}`
        .toLowerCase()
        .replaceAll(/[^a-z0-9-]+/g, '-')
        .replaceAll(/^-+|-+$/g, '') || 'root',
    spec: first?.value ?? {},
    at: first?.at ?? { file: tree.shown(file ?? path) },
    targets,
    isNamed: prefix !== '',
  };
};

/** YAML files of a bundle, relative to it: without those of bundles below it. */
export const ownFiles = (tree: SourceTree, path: string): readonly string[] => {
  const under = path === '.' ? '' : `${path}/`;
  const others = fleetFolders(tree, path).filter((folder) => folder !== path);
  return [...tree.files.keys()]
    .filter(
      (file) =>
        file.startsWith(under) &&
        isYamlFile(file) &&
        !/^fleet\.ya?ml$/.test(posix.basename(file)) &&
        !file.split('/').some((part) => part.startsWith('.')) &&
        !others.some((folder) => file.startsWith(`${folder}/`)),
    )
    .map((file) => file.slice(under.length));
};
