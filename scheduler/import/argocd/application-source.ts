import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import { findKustomization } from '../../load/sources/kustomization-file.ts';
import type { ChartContent, FolderContent, Manifest, SourceTree } from '../imported.ts';
import { withVersion } from '../read/chart-version.ts';
import {
  groupKind,
  isYamlFile,
  listAt,
  type PlacedManifest,
  recordAt,
  textAt,
  textsAt,
  valueAt,
} from '../read/manifests.ts';
import { mergeValues, parseValues, setValue, typedText } from '../read/merge-values.ts';
import type { NoteBook } from '../read/notes.ts';
import { noteFailure, noteNameless } from '../read/notes.ts';
import { renderChart } from '../read/render-chart.ts';
import { cleanFolder, renderFolder, type Rendering } from '../read/render-folder.ts';
import { withoutToolFiles } from '../read/without-tool-files.ts';
import type { ArgoSources } from './argo-sources.ts';
import { isForArgo } from './argo-kinds.ts';
import { pathPattern } from './path-pattern.ts';

export type SourceContext = {
  readonly sources: ArgoSources;
  readonly notes: NoteBook;
  readonly rendering: Rendering;
};

export type SourceToRead = {
  readonly application: PlacedManifest;
  readonly subject: string;
  readonly source: Manifest;
  /** Sources with a `ref`, by that name. */
  readonly refs: ReadonlyMap<string, Manifest>;
  readonly name: string;
  readonly namespace: string;
};

export type ReadSource = {
  readonly content: FolderContent | ChartContent;
  /** Everything that it renders, Applications included; a chart from elsewhere has none. */
  readonly manifests: readonly PlacedManifest[];
};

/** Reads one source of an Application; undefined, with a note, for one that cannot be written. */
export const readSource = async (
  reading: SourceToRead,
  context: SourceContext,
): Promise<ReadSource | undefined> => {
  try {
    return await renderSource(reading, context);
  } catch (error) {
    noteFailure(error, reading.application.at, reading.subject, context.notes);
    return undefined;
  }
};

const renderSource = async (
  reading: SourceToRead,
  context: SourceContext,
): Promise<ReadSource | undefined> => {
  const { application, subject, source } = reading;
  const { at } = application;
  const { notes, sources, rendering } = context;
  const url = textAt(source, 'repoURL') ?? '';
  const chartName = textAt(source, 'chart');
  if (chartName !== undefined) {
    const address = url.includes('://') ? url : `oci://${url}`;
    const values = helmValues(reading, undefined, '.', context);
    const chart = withVersion(
      {
        from: 'elsewhere',
        chart: `${address.replace(/\/+$/, '')}/${chartName}`,
        version: textsAt(source)['targetRevision'] ?? '',
      },
      { given: rendering.given, at, subject, notes },
    );
    return {
      content: { kind: 'chart', chart, releaseName: releaseName(reading), values, objects: undefined },
      manifests: [],
    };
  }
  const tree = sources.treeOf(url, textAt(source, 'targetRevision'), at, subject);
  if (!tree) return undefined;
  const path = cleanFolder(textAt(source, 'path') ?? '.');
  if (source['plugin'] !== undefined) {
    notes.add('unmapped', at, subject, {
      what: 'a plugin of Argo CD renders it',
      todo: 'Commit what the plugin writes, or a chart or kustomization that gives the same',
    });
    return undefined;
  }
  const isChart = source['helm'] !== undefined || tree.files.has(posix.join(path, 'Chart.yaml'));
  const isKustomize = source['kustomize'] !== undefined || findKustomization(tree.files, path) !== undefined;
  if (isChart && source['directory'] === undefined) return await readChart(reading, tree, path, context);
  return await readDirectory(reading, tree, path, isKustomize && source['directory'] === undefined, context);
};

const releaseName = ({ source, name }: SourceToRead): string => textAt(source, 'helm', 'releaseName') ?? name;

const readChart = async (
  reading: SourceToRead,
  tree: SourceTree,
  path: string,
  context: SourceContext,
): Promise<ReadSource | undefined> => {
  const { application, subject, namespace, source } = reading;
  const values = helmValues(reading, tree, path, context);
  for (const field of ['skipCrds', 'kubeVersion', 'apiVersions', 'fileParameters'])
    if (valueAt(source, 'helm', field) !== undefined)
      context.notes.add('changed', application.at, subject, {
        what: `helm.${field} has no counterpart`,
        todo: 'Look at the objects that differ',
      });
  const chart = { from: 'tree', tree, path } as const;
  const toRender = {
    chart,
    releaseName: releaseName(reading),
    namespace: textAt(source, 'helm', 'namespace') ?? namespace,
    values,
    subject,
    at: application.at,
  };
  const objects = await renderChart(toRender, context.rendering, context.notes);
  if (objects === 'failed' || objects === undefined) return undefined;
  const file = { file: tree.shown(posix.join(path, 'Chart.yaml')) };
  return {
    content: { kind: 'chart', chart, releaseName: releaseName(reading), values, objects },
    manifests: objects.map((value) => ({ value, at: file, path })),
  };
};

/** Values in Argo CD's order: files, `values` or `valuesObject`, parameters. */
const helmValues = (
  { application: { at }, subject, source, refs }: SourceToRead,
  tree: SourceTree | undefined,
  path: string,
  { sources, notes }: SourceContext,
): Manifest => {
  let values: Manifest = {};
  /** A file of another source is written `$ref/path`. */
  const valuesIn = (file: string): Manifest | undefined => {
    const [, ref, inside = ''] = /^\$([^/]+)\/(.*)$/.exec(file) ?? [];
    if (ref === undefined)
      return valuesOf(tree, cleanFolder(file.startsWith('/') ? file : posix.join(path, file)));
    const other = refs.get(ref);
    const from =
      other && sources.treeOf(textAt(other, 'repoURL') ?? '', textAt(other, 'targetRevision'), at, subject);
    return valuesOf(from, cleanFolder(inside));
  };
  for (const file of listAt(source, 'helm', 'valueFiles').filter((one) => typeof one === 'string')) {
    const found = valuesIn(file);
    if (found) values = mergeValues(values, found);
    else if (valueAt(source, 'helm', 'ignoreMissingValueFiles') !== true)
      notes.add('decide', at, subject, {
        what: `the values file ${file} is not in the repository`,
        todo: 'Write its values into values.yaml of the workload',
      });
  }
  values = mergeValues(values, parseValues(textAt(source, 'helm', 'values') ?? '', at));
  values = mergeValues(values, recordAt(source, 'helm', 'valuesObject'));
  for (const parameter of listAt(source, 'helm', 'parameters')) {
    const value = textsAt(parameter)['value'] ?? '';
    const set = setValue(
      values,
      textAt(parameter, 'name') ?? '',
      valueAt(parameter, 'forceString') === true ? value : typedText(value),
    );
    if (set) values = set;
  }
  return values;
};

const valuesOf = (tree: SourceTree | undefined, path: string): Manifest | undefined => {
  const bytes = tree?.files.get(path);
  return tree && bytes && parseValues(bytes, { file: tree.shown(path) });
};

const readDirectory = async (
  { application, subject, source }: SourceToRead,
  tree: SourceTree,
  path: string,
  isKustomize: boolean,
  { rendering, notes }: SourceContext,
): Promise<ReadSource> => {
  const overlay = isKustomize ? kustomizeOverlay(recordAt(source, 'kustomize')) : {};
  const recurse = valueAt(source, 'directory', 'recurse') === true;
  const [include, exclude] = ['include', 'exclude'].map((field) => textAt(source, 'directory', field));
  const wanted = (file: string): boolean =>
    (recurse || !file.includes('/')) &&
    (include === undefined || pathPattern(include)(file)) &&
    (exclude === undefined || !pathPattern(exclude)(file));
  if (!isKustomize) noteOtherFiles(tree, path, wanted, application, subject, notes);
  const made = await renderFolder({ tree, path, overlay, wanted, subject, isFlat: !isKustomize }, rendering);
  noteNameless(made.nameless, notes);
  const all = made.manifests.map(({ value }) => value);
  return {
    manifests: made.manifests,
    content: {
      kind: 'folder',
      tree,
      path,
      overlay,
      ...withoutToolFiles(tree, made, all.filter(isForArgo).map(groupKind), isForArgo),
      variables: undefined,
      objects: all.filter((value) => !isForArgo(value)),
    },
  };
};

const noteOtherFiles = (
  { files, shown }: SourceTree,
  path: string,
  wanted: (file: string) => boolean,
  { at }: PlacedManifest,
  subject: string,
  notes: NoteBook,
): void => {
  const under = path === '.' ? '' : `${path}/`;
  for (const file of files.keys())
    if (
      file.startsWith(under) &&
      wanted(file.slice(under.length)) &&
      !isYamlFile(file) &&
      /\.(?:jsonnet|json)$/.test(file)
    )
      notes.add('unmapped', { file: shown(file) }, subject, {
        what: `${file.endsWith('.json') ? 'JSON' : 'Jsonnet'} is not read (named by ${at.file})`,
        todo: 'Commit the objects as YAML',
      });
};

const kustomizeOverlay = (kustomize: Manifest): Manifest => {
  const list = (field: string): readonly unknown[] | undefined => {
    const found = listAt(kustomize, field);
    return found.length > 0 ? found : undefined;
  };
  const record = (field: string): Manifest | undefined => {
    const found = recordAt(kustomize, field);
    return Object.keys(found).length > 0 ? found : undefined;
  };
  const labels = record('commonLabels');
  const withoutSelector = kustomize['labelWithoutSelector'] === true;
  return defined({
    namespace: textAt(kustomize, 'namespace'),
    namePrefix: textAt(kustomize, 'namePrefix'),
    nameSuffix: textAt(kustomize, 'nameSuffix'),
    commonLabels: withoutSelector ? undefined : labels,
    labels: withoutSelector && labels ? [{ pairs: labels }] : undefined,
    commonAnnotations: record('commonAnnotations'),
    images: list('images')?.map((one) => (typeof one === 'string' ? imageOf(one) : one)),
    replicas: list('replicas'),
    patches: list('patches'),
    components: list('components'),
  }) as Manifest;
};

/** `name=other:tag`, `name:tag`, `name@sha256:...` */
const imageOf = (text: string): Manifest => {
  const [first = '', second] = text.split('=');
  const target = second ?? first;
  const [, name = target, tag, digest] =
    /^(.*?)(?::([^/:@]+))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(target) ?? [];
  return defined({
    name: second === undefined ? name : first,
    newName: second === undefined ? undefined : name,
    newTag: tag,
    digest,
  }) as Manifest;
};
