import { compareBytes } from '#bundles/digest';
import { defined } from '#bundles/defined';
import type { Place } from '#bundles/errors';
import type { FolderContent, Imported, ImportedCluster, Manifest, SourceTree, Unit } from '../imported.ts';
import {
  type PlacedManifest,
  annotateAll,
  groupKind,
  groupOf,
  kindOf,
  listAt,
  nameOf,
  namespaceOf,
  textAt,
  valueAt,
} from '../read/manifests.ts';
import { noteFailure, noteNameless, type NoteBook, openNotes } from '../read/notes.ts';
import { withoutTwice } from '../read/namespace-unit.ts';
import type { Repository } from '../read/open-repository.ts';
import { withoutToolFiles } from '../read/without-tool-files.ts';
import { cleanFolder, renderFolder, type RenderedFolder, type Rendering } from '../read/render-folder.ts';
import { findClusters, type FluxCluster } from './find-clusters.ts';
import {
  FLUX_ITSELF,
  isFluxItself,
  isForFlux,
  isHelmRelease,
  isKustomization,
  isSource,
} from './flux-kinds.ts';
import { readHelmRelease } from './helm-release.ts';
import { openSources, type FluxSources } from './flux-sources.ts';
import { noteKustomization, overlayOf } from './kustomization-fields.ts';
import { type Found, substituteManifest } from './substitute.ts';
import { variablesOf } from './variables.ts';

export type FluxOptions = Rendering & {
  readonly repository: Repository;
  /** `<name>=<folder>`; without any, clusters are found. */
  readonly clusters: readonly string[];
};

/** A Kustomization that was rendered. */
export type Rendered = {
  readonly id: string;
  readonly unit: PlacedManifest;
  readonly manifests: readonly PlacedManifest[];
  readonly folder: Omit<FolderContent, 'objects' | 'dropped'>;
};

/** Reads the units that Flux applies on each cluster of a repository. @throws FleetError USAGE */
export const readFlux = async (options: FluxOptions): Promise<Imported> => {
  const notes = openNotes();
  const clusters: ImportedCluster[] = [];
  const forks: ArtifactIds = new Map();
  for (const cluster of findClusters(options.repository.tree, options.clusters))
    clusters.push(...(await readCluster(cluster, options, notes, forks)));
  return { clusters: clusters.toSorted((a, b) => compareBytes(a.name, b.name)), notes: notes.all() };
};

type ArtifactIds = Map<string, string>;

type Waiting = { readonly placed: PlacedManifest; readonly cluster: string };

const readCluster = async (
  cluster: FluxCluster,
  options: FluxOptions,
  notes: NoteBook,
  forks: ArtifactIds,
): Promise<readonly ImportedCluster[]> => {
  const waiting: Waiting[] = [{ placed: rootOf(cluster), cluster: cluster.name }];
  const sources = openSources(options.repository, cluster.name, forks, notes);
  const rendered: (Rendered & { readonly cluster: string })[] = [];
  const done = new Set<string>();
  const later: Waiting[] = [];
  const readOne = async ({ placed, cluster: on }: Waiting): Promise<void> => {
    const id = idOf(placed.value);
    if (done.has(`${on} ${id}`)) return;
    const tree = sources.treeOf(placed);
    if (tree === 'later') {
      later.push({ placed, cluster: on });
      return;
    }
    done.add(`${on} ${id}`);
    const made =
      tree === undefined ? undefined : await renderOne(placed, tree, on, { options, notes, rendered });
    if (!made) return;
    rendered.push({ ...made, cluster: on });
    for (const one of made.manifests) if (isSource(one.value)) sources.add(one);
    waiting.push(
      ...made.manifests
        .filter(({ value }) => isKustomization(value))
        .map((one) => ({ placed: one, cluster: remoteCluster(one.value) ?? on })),
    );
  };
  while (waiting.length > 0) {
    for (let next = waiting.shift(); next; next = waiting.shift()) await readOne(next);
    // A source may come from a Kustomization that was read after its user.
    sources.close();
    const again = later.splice(0);
    const known = again.filter(({ placed }) => sources.treeOf(placed) !== 'later');
    if (known.length === 0 && again.length > 0) for (const one of again) sources.missing(one.placed);
    waiting.push(...known);
  }
  const units = await unitsOf(rendered, sources, options, notes);
  return [...Map.groupBy(units, (one) => one.cluster)].map(([name, own]) => ({
    name,
    labels: {},
    units: withoutTwice(own.map(({ cluster: _, ...unit }) => unit)),
  }));
};

/** The bootstrap's Kustomization, or one like it. */
const rootOf = ({ path, at, sync }: FluxCluster): PlacedManifest => ({
  path,
  at,
  value: sync ?? {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'flux-system', namespace: 'flux-system' },
    spec: { path, prune: true, sourceRef: { kind: 'GitRepository', name: 'flux-system' } },
  },
});

const idOf = (value: Manifest): string => `${kindOf(value)}/${namespaceOf(value) ?? ''}/${nameOf(value)}`;
const subjectOf = (value: Manifest): string =>
  `${kindOf(value)} ${namespaceOf(value) === undefined ? '' : `${namespaceOf(value)}/`}${nameOf(value)}`;

/** The cluster of a `kubeConfig`: its Secret often has one name in the namespace of each cluster. */
const remoteCluster = (value: Manifest): string | undefined => {
  const secret = textAt(value, 'spec', 'kubeConfig', 'secretRef', 'name');
  const namespace = namespaceOf(value);
  if (secret === undefined) return undefined;
  return namespace === undefined || namespace === 'flux-system' ? secret : namespace;
};

type Context = {
  readonly options: FluxOptions;
  readonly notes: NoteBook;
  readonly rendered: readonly (Rendered & { readonly cluster: string })[];
};

const renderOne = async (
  placed: PlacedManifest,
  tree: SourceTree,
  on: string,
  { options, notes, rendered }: Context,
): Promise<Rendered | undefined> => {
  const { value, at } = placed;
  const subject = subjectOf(value);
  if (valueAt(value, 'spec', 'suspend') === true) {
    notes.add('unmapped', at, subject, {
      what: 'it is suspended, so Flux applies nothing of it',
      todo: 'Resume it and import again, or leave it out',
    });
    return undefined;
  }
  noteKustomization(placed, notes);
  const path = cleanFolder(textAt(value, 'spec', 'path') ?? '.');
  const overlay = overlayOf(value);
  const here = rendered.filter((one) => one.cluster === on).flatMap((one) => one.manifests);
  const variables = variablesOf(placed, here, options, notes);
  try {
    const made = await renderFolder({ tree, path, overlay, subject, wanted: isWanted }, options);
    noteNameless(made.nameless, notes);
    const found: Found = { missing: new Set(), unknown: new Set() };
    const manifests =
      variables === undefined
        ? made.manifests
        : made.manifests.map((one) => ({ ...one, value: substituteManifest(one.value, variables, found) }));
    noteVariables(found, placed, notes);
    return {
      id: idOf(value),
      unit: placed,
      manifests,
      folder: folderOf(made, tree, path, overlay, variables),
    };
  } catch (error) {
    noteFailure(error, at, subject, notes);
    return undefined;
  }
};

const isWanted = (path: string): boolean => !path.split('/').some((part) => part.startsWith('.'));

const folderOf = (
  { listed, used }: RenderedFolder,
  tree: SourceTree,
  path: string,
  overlay: Manifest,
  variables: Readonly<Record<string, string>> | undefined,
): Rendered['folder'] => ({ kind: 'folder', tree, path, overlay, listed, used, variables });

const noteVariables = ({ missing, unknown }: Found, { value, at }: PlacedManifest, notes: NoteBook): void => {
  for (const name of missing)
    notes.add('decide', at, subjectOf(value), {
      what: `the variable ${name} has no value in the repository; Flux puts empty text or what a Secret of the cluster says`,
      todo: `Give it with --variable ${name}=<value> and import again`,
    });
  for (const text of unknown)
    notes.add('decide', at, subjectOf(value), {
      what: `${text} uses a function of envsubst that is not read`,
      todo: 'Write the value itself',
    });
};

const isForTool = (value: Manifest): boolean => isForFlux(value) || isFluxItself(value);

type OnCluster = Unit & { readonly cluster: string };

const unitsOf = async (
  rendered: readonly (Rendered & { readonly cluster: string })[],
  sources: FluxSources,
  options: FluxOptions,
  notes: NoteBook,
): Promise<readonly OnCluster[]> => {
  const units: OnCluster[] = [];
  const made = new Map<string, string[]>();
  const onCluster = new Map(
    [...Map.groupBy(rendered, ({ cluster }) => cluster)].map(
      ([cluster, own]) => [cluster, own.flatMap(({ manifests }) => manifests)] as const,
    ),
  );
  for (const one of rendered) {
    const { cluster } = one;
    const all = onCluster.get(cluster) ?? [];
    const own = one.manifests.filter(({ value }) => !isForTool(value));
    for (const { value, at } of one.manifests) noteDropped(value, at, notes);
    const brought: OnCluster[] = [];
    if (own.length > 0) brought.push({ ...kustomizationUnit(one, own), cluster });
    for (const release of one.manifests.filter(({ value }) => isHelmRelease(value))) {
      const found = await readHelmRelease(release, { all, sources, options, notes });
      const on = remoteCluster(release.value) ?? cluster;
      brought.push(...found.map((unit) => ({ ...unit, cluster: on })));
    }
    units.push(...brought);
    made.set(
      `${cluster} ${one.id}`,
      brought.map(({ id }) => id),
    );
  }
  // A dependency on a Kustomization is one on everything that it brings.
  const known = new Set(units.map(({ cluster, id }) => `${cluster} ${id}`));
  return units.map((unit) => ({
    ...unit,
    dependsOn: [...new Set(unit.dependsOn.flatMap((id) => made.get(`${unit.cluster} ${id}`) ?? [id]))].filter(
      (id) => known.has(`${unit.cluster} ${id}`) && id !== unit.id,
    ),
  }));
};

const kustomizationUnit = (
  { id, unit: { value, at }, folder, manifests }: Rendered,
  own: readonly PlacedManifest[],
): Unit => {
  const objects = own.map((one) => one.value);
  const others = manifests.map((one) => one.value);
  const dropped = [
    ...others.filter(isForFlux).map(groupKind),
    ...(others.some(isFluxItself) ? [`label:${FLUX_ITSELF}`] : []),
  ];
  const tenant = textAt(value, 'spec', 'serviceAccountName') === undefined ? '' : (namespaceOf(value) ?? '');
  return {
    id,
    name: nameOf(value),
    qualifier: namespaceOf(value) ?? '',
    workspace: tenant === 'flux-system' ? '' : tenant,
    at,
    namespace: textAt(value, 'spec', 'targetNamespace') ?? 'default',
    dependsOn: dependencies(value, 'Kustomization'),
    content: {
      ...folder,
      ...withoutToolFiles(folder.tree, folder, dropped, isForTool),
      objects,
    },
    annotations: annotationsOf(value, objects),
  };
};

const dependencies = (value: Manifest, kind: string): readonly string[] =>
  listAt(value, 'spec', 'dependsOn').map(
    (one) => `${kind}/${textAt(one, 'namespace') ?? namespaceOf(value) ?? ''}/${textAt(one, 'name') ?? ''}`,
  );

/** `prune: false` and `force: true` are annotations of ours, for all kinds of the folder. */
const annotationsOf = (value: Manifest, objects: readonly Manifest[]): Unit['annotations'] => {
  const set = defined({
    'fleet-ferry/prune': valueAt(value, 'spec', 'prune') === false ? 'disabled' : undefined,
    'fleet-ferry/force': valueAt(value, 'spec', 'force') === true ? 'enabled' : undefined,
  }) as Readonly<Record<string, string>>;
  return Object.keys(set).length === 0 ? [] : annotateAll(objects, set);
};

const noteDropped = (value: Manifest, at: Place, notes: NoteBook): void => {
  if (isKustomization(value) || isHelmRelease(value) || isSource(value)) return;
  if (isFluxItself(value)) {
    notes.add('told', { file: at.file }, 'Flux', {
      what: "the objects of Flux's own controllers are left out",
      todo: 'The agent takes their place; remove Flux when its objects have been taken over',
    });
    return;
  }
  const group = groupOf(value);
  if (!isForFlux(value)) return;
  notes.add('unmapped', at, subjectOf(value), {
    what: `only Flux reads ${kindOf(value)}s`,
    todo: group.startsWith('image.')
      ? 'fleet-scheduler images lock pins images; run it with --update where Flux wrote newer tags'
      : 'Alarms and webhooks are settings of fleet-scheduler serve',
  });
};
