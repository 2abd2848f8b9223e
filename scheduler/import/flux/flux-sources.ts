import { posix } from 'node:path';
import { compareBytes, digestOf } from '#bundles/digest';
import type { Manifest, SourceTree } from '../imported.ts';
import {
  kindOf,
  listAt,
  nameOf,
  namespaceOf,
  type PlacedManifest,
  textAt,
  valueAt,
} from '../read/manifests.ts';
import type { NoteBook } from '../read/notes.ts';
import { looseKey, type Repository } from '../read/open-repository.ts';

export type FluxSources = {
  readonly add: (source: PlacedManifest) => void;
  /** The files of a Kustomization's source; 'later': its source is not known yet; undefined: it cannot be read. */
  readonly treeOf: (user: PlacedManifest) => SourceTree | 'later' | undefined;
  readonly find: (kind: string, namespace: string | undefined, name: string) => PlacedManifest | undefined;
  /** The files of a GitRepository or Bucket; undefined: another repository. */
  readonly treeOfSource: (
    kind: string,
    namespace: string | undefined,
    name: string,
  ) => SourceTree | undefined;
  /** From now on an unknown GitRepository is this repository, as that of a bootstrap, which is in no file. */
  readonly close: () => void;
  readonly missing: (user: PlacedManifest) => void;
};

/** Sources of one cluster. @param ids of artifacts on all clusters: those with the same files share a folder */
export const openSources = (
  repository: Repository,
  cluster: string,
  ids: Map<string, string>,
  notes: NoteBook,
): FluxSources => {
  const known = new Map<string, PlacedManifest>();
  const artifacts = new Map<string, SourceTree>();
  const key = (kind: string, namespace: string | undefined, name: string): string =>
    `${kind}/${namespace ?? ''}/${name}`;
  let isClosed = false;
  const treeOfSource: FluxSources['treeOfSource'] = (kind, namespace, name) => {
    if (kind === 'ExternalArtifact') return artifacts.get(key(kind, namespace, name));
    if (kind !== 'GitRepository') return undefined;
    const found = known.get(key(kind, namespace, name));
    if (!found) return repository.tree;
    return isOwn(found.value, repository) ? repository.tree : undefined;
  };
  const unreadable = ({ value, at }: PlacedManifest, what: string): void =>
    notes.add('unmapped', at, `${kindOf(value)} ${namespaceOf(value) ?? ''}/${nameOf(value)}`, {
      what,
      todo: 'Import that repository too, or, if it is this one under another address, say --address <URL>',
    });
  return {
    add: (source) => {
      known.set(key(kindOf(source.value), namespaceOf(source.value), nameOf(source.value)), source);
      if (kindOf(source.value) !== 'ArtifactGenerator') return;
      for (const tree of artifactsOf(source, treeOfSource, notes)) {
        const shared = sharedId(tree, cluster, ids);
        artifacts.set(key('ExternalArtifact', namespaceOf(source.value), tree.id), { ...tree, id: shared });
      }
    },
    find: (kind, namespace, name) => known.get(key(kind, namespace, name)),
    treeOfSource,
    treeOf: (user) => {
      const { value } = user;
      const [kind, name] = [
        textAt(value, 'spec', 'sourceRef', 'kind') ?? 'GitRepository',
        textAt(value, 'spec', 'sourceRef', 'name') ?? '',
      ];
      const namespace = textAt(value, 'spec', 'sourceRef', 'namespace') ?? namespaceOf(value);
      const isKnown = known.has(key(kind, namespace, name)) || artifacts.has(key(kind, namespace, name));
      const isBootstrap = kind === 'GitRepository' && name === 'flux-system';
      if (!isKnown && !isClosed && !isBootstrap) return 'later';
      const tree = treeOfSource(kind, namespace, name);
      if (!isKnown && !isBootstrap && tree)
        notes.add('told', user.at, `Kustomization ${namespaceOf(value) ?? ''}/${nameOf(value)}`, {
          what: `its ${kind} ${name} is in no file, so this repository is taken for it`,
          todo: 'If it is another one, remove the workload from the platform and import that repository',
        });
      if (!tree)
        unreadable(
          user,
          `its source, the ${kind} ${name}, is not this repository${addressOf(known.get(key(kind, namespace, name)))}`,
        );
      return tree;
    },
    close: () => {
      isClosed = true;
    },
    missing: (user) => unreadable(user, 'its source is not found'),
  };
};

const addressOf = (found: PlacedManifest | undefined): string => {
  const url = textAt(found?.value, 'spec', 'url');
  return url === undefined ? '' : ` (${url})`;
};

/** The source of a bootstrap, or one with an address of this repository. */
const isOwn = (value: Manifest, { addresses }: Repository): boolean => {
  const url = textAt(value, 'spec', 'url');
  return nameOf(value) === 'flux-system' || (url !== undefined && addresses.has(looseKey(url)));
};

/** Artifacts that Flux makes of parts of repositories. */
const artifactsOf = (
  { value, at }: PlacedManifest,
  treeOfSource: FluxSources['treeOfSource'],
  notes: NoteBook,
): readonly SourceTree[] => {
  const sources = new Map(
    listAt(value, 'spec', 'sources').map((one) => {
      const [kind, name] = [textAt(one, 'kind') ?? '', textAt(one, 'name') ?? ''];
      return [
        `@${textAt(one, 'alias') ?? ''}`,
        treeOfSource(kind, textAt(one, 'namespace') ?? namespaceOf(value), name),
      ];
    }),
  );
  return listAt(value, 'spec', 'artifacts').map((artifact) => {
    const id = textAt(artifact, 'name') ?? '';
    const files = new Map<string, Buffer>();
    const shown = new Map<string, string>();
    for (const rule of listAt(artifact, 'copy')) {
      const [from = '', to = ''] = [textAt(rule, 'from'), textAt(rule, 'to')];
      const [alias = '', ...parts] = from.split('/');
      const tree = sources.get(alias);
      const isAll = parts.at(-1) === '**';
      const prefix = parts.slice(0, isAll ? -1 : undefined).join('/');
      const target = to.replace(/^@artifact\/?/, '');
      if (!tree || prefix.includes('*') || valueAt(rule, 'strategy') === 'Merge') {
        notes.add('unmapped', at, `ArtifactGenerator ${namespaceOf(value) ?? ''}/${nameOf(value)}`, {
          what: `the copy from ${from} to ${to} cannot be followed`,
          todo: 'Write whole folders of this repository, like @alias/apps/**',
        });
        continue;
      }
      for (const [path, bytes] of tree.files) {
        const put = copiedTo(path, { prefix, isAll, target });
        if (put === undefined) continue;
        files.set(put, bytes);
        shown.set(put, tree.shown(path));
      }
    }
    return { id, files, shown: (path) => shown.get(path) ?? path };
  });
};

/** The path that a rule of an ArtifactGenerator copies a file to; undefined if it does not copy it. */
const copiedTo = (
  path: string,
  { prefix, isAll, target }: { readonly prefix: string; readonly isAll: boolean; readonly target: string },
): string | undefined => {
  if (!isAll) {
    if (path !== prefix) return undefined;
    return target.endsWith('/') || target === '' ? `${target}${posix.basename(path)}` : target;
  }
  if (prefix === '') return `${target}${path}`;
  return path.startsWith(`${prefix}/`) ? `${target}${path.slice(prefix.length + 1)}` : undefined;
};

const sharedId = (tree: SourceTree, cluster: string, ids: Map<string, string>): string => {
  const digest = digestOf(
    Buffer.from(
      [...tree.files]
        .toSorted(([a], [b]) => compareBytes(a, b))
        .map(([path, bytes]) => `${path}\0${digestOf(bytes)}`)
        .join('\n'),
    ),
  );
  const same = ids.get(`${tree.id} ${digest}`);
  if (same !== undefined) return same;
  const taken = new Set(ids.values());
  const id = taken.has(tree.id) || tree.id === 'repository' ? `${tree.id}-${cluster}` : tree.id;
  ids.set(`${tree.id} ${digest}`, id);
  return id;
};
