import { posix } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { Imported, Manifest, Unit } from '../imported.ts';
import type { KnownCluster } from '../read/known-clusters.ts';
import {
  isYamlFile,
  kindOf,
  listAt,
  nameOf,
  namespaceOf,
  type PlacedManifest,
  readManifests,
  recordAt,
  textAt,
  textsAt,
  valueAt,
} from '../read/manifests.ts';
import { namespaceUnit, withoutTwice } from '../read/namespace-unit.ts';
import { openNotes } from '../read/notes.ts';
import { LIKE_HELM } from '../read/parse-text.ts';
import type { Repository } from '../read/open-repository.ts';
import { cleanFolder, type Rendering } from '../read/render-folder.ts';
import { isApplication, isApplicationSet, isForArgo, isProject } from './argo-kinds.ts';
import { openArgoSources } from './argo-sources.ts';
import { findDestination, type Destinations, openDestinations } from './destinations.ts';
import { generateApplications, type GeneratorContext } from './generators.ts';
import { noteApplication, settingsOf } from './application-fields.ts';
import { type ReadSource, readSource } from './application-source.ts';

export type ArgoOptions = Rendering & {
  readonly repository: Repository;
  /** Folders or files with the Applications to begin with; without any, all that are in the repository. */
  readonly roots: readonly string[];
  /** Clusters of a file; those of Secrets in the repository are added. */
  readonly clusters: readonly KnownCluster[];
};

type Waiting = { readonly placed: PlacedManifest; readonly parent: string };

type Placed = Unit & { readonly cluster: string; readonly wave: number; readonly parent: string };

/** Reads the units that Argo CD applies on each cluster. @throws FleetError USAGE for a repository without Applications */
export const readArgocd = async (options: ArgoOptions): Promise<Imported> => {
  const notes = openNotes();
  const all = allManifests(options.repository);
  const destinations = openDestinations(options.clusters, all, notes);
  const found = all.filter(({ value }) => isApplication(value) || isApplicationSet(value));
  const sources = openArgoSources(options.repository, mostNamed(found, options.repository), notes);
  const rootNames = options.roots.map(cleanFolder);
  const waiting: Waiting[] =
    rootNames.length > 0
      ? rootNames.map((path) => ({ placed: rootApplication(path, options.repository), parent: '' }))
      : found.map((placed) => ({ placed, parent: '' }));
  if (waiting.length === 0)
    throw new FleetError('USAGE', 'the repository has no Application and no ApplicationSet', {
      hint: 'Name the folder that Argo CD begins with: --root <folder>, also a chart of Applications',
    });
  const units: Placed[] = [];
  const done = new Map<string, (string | undefined)[]>();
  const generating: GeneratorContext = { clusters: destinations.clusters, sources, notes };
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { placed, parent } = next;
    const id = `${kindOf(placed.value)}/${nameOf(placed.value)}/${JSON.stringify(valueAt(placed.value, 'spec', 'destination'))}`;
    const [namespace, others] = [namespaceOf(placed.value), done.get(id) ?? []];
    // What a folder gives a namespace to has none in its file.
    if (others.some((one) => one === undefined || namespace === undefined || one === namespace)) continue;
    done.set(id, [...others, namespace]);
    const below = `${parent}/${namespace ?? ''}/${nameOf(placed.value)}`;
    if (isApplicationSet(placed.value)) {
      const made = generateApplications(placed, generating);
      waiting.push(...made.map((one) => ({ placed: one, parent: below })));
      continue;
    }
    const read = await readApplication(placed, { sources, notes, rendering: options, destinations });
    units.push(...read.units.map((unit) => ({ ...unit, parent })));
    waiting.push(...read.children.map((one) => ({ placed: one, parent: below })));
  }
  for (const { value, at } of all.filter((one) => isProject(one.value) && nameOf(one.value) !== 'default'))
    notes.add('told', at, `AppProject ${nameOf(value)}`, {
      what: 'its name is the workspace of its Applications; sourceRepos, roles and windows are not written',
      todo: 'Grants are fields of Workspace (docs/workspaces.md), windows of RolloutPolicy',
    });
  const names = [...new Set(units.map(({ cluster }) => cluster))].toSorted();
  return {
    clusters: names.map((name) => ({
      name,
      labels: destinations.clusters.find((one) => one.name === name)?.labels ?? {},
      units: withoutTwice(withWaves(units.filter(({ cluster }) => cluster === name))),
    })),
    notes: notes.all(),
  };
};

/** All objects of YAML files but those of charts, whose templates are not YAML. */
const allManifests = ({ tree }: Repository): readonly PlacedManifest[] =>
  [...tree.files].flatMap(([path, bytes]) =>
    isYamlFile(path) && /argoproj\.io/.test(bytes.toString('latin1')) && !isTemplate(path, tree.files)
      ? readManifests(path, tree.shown(path), bytes, LIKE_HELM)
      : [],
  );

const isTemplate = (path: string, files: ReadonlyMap<string, Buffer>): boolean => {
  const [chart] = path.split('/templates/');
  return path.includes('/templates/') && files.has(posix.join(chart ?? '', 'Chart.yaml'));
};

/** The address that most sources name whose folder this repository has. */
const mostNamed = (found: readonly PlacedManifest[], { tree }: Repository): string | undefined => {
  const counts = new Map<string, number>();
  const folders = new Set(
    [...tree.files.keys()].flatMap((path) =>
      path.split('/').map((_, at, parts) => parts.slice(0, at).join('/') || '.'),
    ),
  );
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isRecord(value)) return;
    const [url, path] = [textAt(value, 'repoURL'), textAt(value, 'path')];
    const hasFolder =
      path === undefined
        ? value['directories'] !== undefined || value['files'] !== undefined
        : folders.has(cleanFolder(path)) || path.includes('{{');
    if (url !== undefined && value['chart'] === undefined && hasFolder)
      counts.set(url, (counts.get(url) ?? 0) + 1);
    Object.values(value).forEach(visit);
  };
  for (const { value } of found) visit(value);
  return [...counts].toSorted(([a, one], [b, two]) => two - one || compareBytes(a, b))[0]?.[0];
};

/** A folder that Argo CD was pointed at by hand. */
const rootApplication = (path: string, { addresses }: Repository): PlacedManifest => ({
  path,
  at: { file: path },
  value: {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: path === '.' ? 'root' : posix.basename(path), namespace: 'argocd' },
    spec: {
      destination: { server: 'https://kubernetes.default.svc', namespace: 'argocd' },
      syncPolicy: { automated: { prune: true } },
      source: { repoURL: [...addresses][0] ?? '', path },
    },
  },
});

type ApplicationContext = Parameters<typeof readSource>[1] & { readonly destinations: Destinations };

const readApplication = async (
  application: PlacedManifest,
  context: ApplicationContext,
): Promise<{
  readonly units: readonly Omit<Placed, 'parent'>[];
  readonly children: readonly PlacedManifest[];
}> => {
  const { value, at } = application;
  const name = nameOf(value);
  const subject = `Application ${name}`;
  const { notes } = context;
  const namespace = textAt(value, 'spec', 'destination', 'namespace') ?? 'default';
  const cluster = findDestination(value, at, subject, context.destinations, notes);
  noteApplication(application, subject, notes);
  const listed = listAt(value, 'spec', 'sources').filter(isRecord);
  const sources = listed.length > 0 ? listed : [recordAt(value, 'spec', 'source')];
  const refs = new Map(
    sources.flatMap((one) => (typeof one['ref'] === 'string' ? [[one['ref'], one] as const] : [])),
  );
  const units: Omit<Placed, 'parent'>[] = [];
  const children: PlacedManifest[] = [];
  const project = textAt(value, 'spec', 'project') ?? 'default';
  const creates = listAt(value, 'spec', 'syncPolicy', 'syncOptions').includes('CreateNamespace=true');
  const wave = Number(textsAt(value, 'metadata', 'annotations')['argocd.argoproj.io/sync-wave'] ?? 0) || 0;
  const created = creates
    ? [namespaceUnit(namespace, at, recordAt(value, 'spec', 'syncPolicy', 'managedNamespaceMetadata'))]
    : [];
  const own = sources.filter(
    (one) => one['ref'] === undefined || one['path'] !== undefined || one['chart'] !== undefined,
  );
  for (const [index, source] of own.entries()) {
    const read = await readSource({ application, subject, source, refs, name, namespace }, context);
    if (!read) continue;
    children.push(...read.manifests.filter(({ value: one }) => isApplication(one) || isApplicationSet(one)));
    const content = contentOf(read);
    if (content.objects?.length === 0) continue;
    const number = index > 0 ? `-${index + 1}` : '';
    units.push({
      id: `Application/${namespaceOf(value) ?? 'argocd'}/${name}${number}`,
      name: `${name}${number}`,
      qualifier: namespaceOf(value) ?? 'argocd',
      workspace: project === 'default' ? '' : project,
      at,
      namespace:
        read.content.kind === 'chart' ? (textAt(source, 'helm', 'namespace') ?? namespace) : namespace,
      dependsOn: created.map(({ id }) => id),
      content,
      annotations: settingsOf(application, subject, content.objects, notes),
      cluster,
      wave,
    });
  }
  const spaces =
    units.length > 0 ? created.map((unit) => ({ ...unit, cluster, wave: Number.NEGATIVE_INFINITY })) : [];
  return { units: [...spaces, ...units], children };
};

/** A chart that also makes Applications cannot leave them out: its other objects are written as they were rendered. */
const contentOf = ({ content, manifests }: ReadSource): Unit['content'] => {
  if (content.kind !== 'chart' || !content.objects || !manifests.some(({ value }) => isForArgo(value)))
    return content;
  return { kind: 'objects', objects: content.objects.filter((one: Manifest) => !isForArgo(one)) };
};

/** Applications of one parent wait for those of the wave before. */
const withWaves = (units: readonly Placed[]): readonly Unit[] =>
  units.map(({ cluster: _, wave, parent, ...unit }) => {
    const siblings = units.filter(
      (one) => one.parent === parent && one.wave < wave && Number.isFinite(one.wave),
    );
    const before = Math.max(...siblings.map((one) => one.wave));
    const waited = siblings.filter((one) => one.wave === before).map(({ id }) => id);
    return { ...unit, dependsOn: [...new Set([...unit.dependsOn, ...waited])] };
  });
