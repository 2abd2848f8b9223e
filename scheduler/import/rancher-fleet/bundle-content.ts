import { posix } from 'node:path';
import { FleetError, isFleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { findKustomization } from '../../load/sources/kustomization-file.ts';
import { writeObject } from '../../model/yaml/write-object.ts';
import type { ChartContent, FolderContent, Manifest, SourceTree } from '../imported.ts';
import { withVersion } from '../read/chart-version.ts';
import type { KnownCluster } from '../read/known-clusters.ts';
import {
  isYamlFile,
  listAt,
  nameOf,
  kindOf,
  namespaceOf,
  readManifests,
  recordAt,
  textAt,
  textsAt,
  valueAt,
} from '../read/manifests.ts';
import { readDocuments } from '../read/edit-documents.ts';
import { MAX_ALIASES } from '../read/parse-text.ts';
import { mergeValues, parseValues } from '../read/merge-values.ts';
import { noteFailure, noteNameless, type NoteBook } from '../read/notes.ts';
import { renderChart } from '../read/render-chart.ts';
import { renderFolder, type Rendering } from '../read/render-folder.ts';
import { renderGo } from '../read/render-text.ts';
import { type Bundle, ownFiles } from './find-bundles.ts';

export type BundleContext = {
  readonly tree: SourceTree;
  readonly rendering: Rendering;
  readonly notes: NoteBook;
};

export type BundleOptions = {
  /** `fleet.yaml` with what a target changes. */
  readonly spec: Manifest;
  readonly cluster: KnownCluster;
  readonly namespace: string;
  /** All objects go there, whatever they say. */
  readonly isForced: boolean;
};

/** The content of a bundle for a cluster; undefined, with a note, for one that cannot be written. */
export const readContent = async (
  bundle: Bundle,
  options: BundleOptions,
  context: BundleContext,
): Promise<FolderContent | ChartContent | undefined> => {
  const { tree, notes } = context;
  const { spec } = options;
  const subject = `bundle ${bundle.name}`;
  const chart = textAt(spec, 'helm', 'chart') ?? '';
  const isChart = chart !== '' || tree.files.has(posix.join(bundle.path, 'Chart.yaml'));
  const dir = textAt(spec, 'kustomize', 'dir') ?? '';
  const isKustomize = dir !== '' || findKustomization(tree.files, bundle.path) !== undefined;
  try {
    if (isChart && dir !== '') {
      notes.add('unmapped', bundle.at, subject, {
        what: 'it changes the objects of a chart by Kustomize, which nothing here does',
        todo: 'Set the same by values of the chart, or commit the rendered objects as a base of the kustomization',
      });
      return undefined;
    }
    if (isChart) return await readChart(bundle, options, chart, subject, context);
    if (isKustomize)
      return await readFolder(bundle, options, tree, posix.join(bundle.path, dir), {}, context);
    return await readPlain(bundle, options, subject, context);
  } catch (error) {
    noteFailure(error, bundle.at, subject, notes);
    return undefined;
  }
};

const readFolder = async (
  bundle: Bundle,
  { namespace, isForced }: BundleOptions,
  tree: SourceTree,
  path: string,
  overlay: Manifest,
  { rendering, notes }: BundleContext,
  wanted?: (file: string) => boolean,
): Promise<FolderContent> => {
  const subject = `bundle ${bundle.name}`;
  const render = (fields: Manifest) =>
    renderFolder(
      { tree, path, overlay: fields, subject, wanted: wanted ?? (() => true), isFlat: wanted !== undefined },
      rendering,
    );
  const first = await render(overlay);
  const isElsewhere = first.manifests.some(({ value }) => (namespaceOf(value) ?? namespace) !== namespace);
  const fields = isForced && isElsewhere ? { ...overlay, namespace } : overlay;
  const made = fields === overlay ? first : await render(fields);
  noteNameless(made.nameless, notes);
  return {
    kind: 'folder',
    tree,
    path,
    overlay: fields,
    listed: made.listed,
    used: made.used,
    dropped: [],
    variables: undefined,
    objects: made.manifests.map(({ value }) => value),
  };
};

/** Plain YAML with overlays: folders below `overlays/` whose files replace, add to, or patch (`name_patch.yaml`) those of the bundle. */
const readPlain = async (
  bundle: Bundle,
  options: BundleOptions,
  subject: string,
  context: BundleContext,
): Promise<FolderContent | undefined> => {
  const { tree, notes } = context;
  const overlays = listAt(options.spec, 'yaml', 'overlays').filter((one) => typeof one === 'string');
  const base = ownFiles(tree, bundle.path).filter((file) => !file.startsWith('overlays/'));
  if (base.length === 0 && overlays.length === 0) {
    notes.add('told', bundle.at, subject, { what: 'it has no objects', todo: 'Check whether it is needed' });
    return undefined;
  }
  if (overlays.length === 0) {
    const wanted = new Set(base);
    return await readFolder(bundle, options, tree, bundle.path, {}, context, (file) => wanted.has(file));
  }
  const files = new Map<string, Buffer>();
  const shown = new Map<string, string>();
  const take = (file: string, from: string): void => {
    files.set(file, tree.files.get(from) ?? Buffer.alloc(0));
    shown.set(file, tree.shown(from));
  };
  for (const file of base) take(file, posix.join(bundle.path, file));
  const patches: Manifest[] = [];
  for (const overlay of overlays) {
    const folder = posix.join(bundle.path, 'overlays', overlay);
    const own = [...tree.files.keys()].filter((file) => file.startsWith(`${folder}/`) && isYamlFile(file));
    if (own.length === 0)
      notes.add('decide', bundle.at, subject, {
        what: `there is no overlay ${overlay}`,
        todo: 'Check its name',
      });
    for (const from of own) {
      const file = from.slice(folder.length + 1);
      const target = file.replace(/_patch(\.ya?ml)$/, '$1');
      if (target === file) take(file, from);
      else {
        const patch = { bytes: tree.files.get(from) ?? Buffer.alloc(0), shown: tree.shown(from) };
        patches.push(...patchesOf(patch, files.get(target)));
      }
    }
  }
  const made: SourceTree = {
    id: `${bundle.name}-${overlays.join('-')}`,
    files,
    shown: (file) => shown.get(file) ?? file,
  };
  return await readFolder(
    bundle,
    options,
    made,
    '.',
    patches.length > 0 ? { patches } : {},
    context,
    () => true,
  );
};

/**
 * A patch is for the object of its file, whose kind and name it need not repeat. A list is one of JSON operations.
 * @throws FleetError CONFIG_INVALID
 */
const patchesOf = (
  { bytes, shown }: { readonly bytes: Buffer; readonly shown: string },
  target: Buffer | undefined,
): readonly Manifest[] => {
  const [object] = target ? readManifests('', '', target) : [];
  const { documents, mistake } = readDocuments(bytes, shown);
  if (mistake)
    throw new FleetError('CONFIG_INVALID', `its YAML has a mistake: ${mistake.message}`, { at: mistake.at });
  return documents.flatMap((document): readonly Manifest[] => {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    if (Array.isArray(value))
      return object
        ? [
            {
              target: { kind: kindOf(object.value), name: nameOf(object.value) },
              patch: JSON.stringify(value),
            },
          ]
        : [];
    if (!isRecord(value)) return [];
    const about = object
      ? {
          apiVersion: object.value['apiVersion'],
          kind: kindOf(object.value),
          metadata: { name: nameOf(object.value) },
        }
      : {};
    return [{ patch: writeObject(mergeValues(about, value)) }];
  });
};

const readChart = async (
  bundle: Bundle,
  { spec, cluster, namespace }: BundleOptions,
  name: string,
  subject: string,
  { tree, rendering, notes }: BundleContext,
): Promise<ChartContent | undefined> => {
  const { at } = bundle;
  const repo = textAt(spec, 'helm', 'repo') ?? '';
  const values = chartValues(bundle, spec, cluster, subject, tree, notes);
  if (!values) return undefined;
  const given = textAt(spec, 'helm', 'releaseName') ?? '';
  const releaseName = given === '' ? bundle.name.slice(0, 53).replace(/-+$/, '') : given;
  if (given === '' && (!bundle.isNamed || bundle.name.length > 53))
    notes.add('decide', at, subject, {
      what: `it has no releaseName, so it is called ${releaseName}${bundle.isNamed ? ', as its own name is too long' : ' without the name of its GitRepo'}`,
      todo: 'Write the name that runs (helm list shows it) into workload.yaml',
    });
  const isLocal = repo === '' && (name === '' || !/^[a-z+]+:\/\//.test(name));
  if (isLocal) {
    const path = posix.join(bundle.path, name === '' ? '.' : name);
    const chart = { from: 'tree', tree, path } as const;
    const objects = await renderChart(
      { chart, releaseName, namespace, values, subject, at },
      rendering,
      notes,
    );
    return objects === 'failed' ? undefined : { kind: 'chart', chart, releaseName, values, objects };
  }
  const address = repo === '' ? name : `${repo.replace(/\/+$/, '')}/${name}`;
  if (/\.tgz(?:$|\?)/.test(address) || address.startsWith('git')) {
    notes.add('unmapped', at, subject, {
      what: `its chart is the file ${address}`,
      todo: 'Commit the chart as a folder, or name it in a chart repository or registry',
    });
    return undefined;
  }
  const chart = withVersion(
    { from: 'elsewhere', chart: address, version: textsAt(spec, 'helm')['version'] ?? '' },
    { given: rendering.given, at, subject, notes },
  );
  return { kind: 'chart', chart, releaseName, values, objects: undefined };
};

const chartValues = (
  bundle: Bundle,
  spec: Manifest,
  cluster: KnownCluster,
  subject: string,
  tree: SourceTree,
  notes: NoteBook,
): Manifest | undefined => {
  let values: Manifest = {};
  for (const file of listAt(spec, 'helm', 'valuesFiles').filter((one) => typeof one === 'string')) {
    const path = posix.join(bundle.path, file);
    const bytes = tree.files.get(path);
    if (bytes) values = mergeValues(values, parseValues(bytes, { file: tree.shown(path) }));
    else
      notes.add('decide', bundle.at, subject, {
        what: `the values file ${file} is not in the repository`,
        todo: 'Write its values into values.yaml of the workload',
      });
  }
  if (listAt(spec, 'helm', 'valuesFrom').length > 0)
    notes.add('decide', bundle.at, subject, {
      what: 'values come from ConfigMaps or Secrets of the clusters (valuesFrom), which are not in the repository',
      todo: 'Write those that are no secret into values.yaml of the workload',
    });
  values = mergeValues(values, recordAt(spec, 'helm', 'values'));
  const isOff = valueAt(spec, 'helm', 'disablePreProcess') === true;
  try {
    return isOff ? values : (fillValues(values, cluster, bundle) as Manifest);
  } catch (error) {
    if (!isFleetError(error)) throw error;
    notes.add('unmapped', bundle.at, subject, {
      what: `a template in its values cannot be rendered for ${cluster.name}: ${error.message}`,
      todo: 'List the clusters with their labels in a file, and import with --clusters FILE',
    });
    return undefined;
  }
};

const LABEL = 'global.fleet.clusterLabels.';

/** Fleet fills `${ }` templates and `global.fleet.clusterLabels.x` in values for each cluster. */
const fillValues = (value: unknown, cluster: KnownCluster, bundle: Bundle): unknown => {
  if (Array.isArray(value)) return value.map((one) => fillValues(one, cluster, bundle));
  if (isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, fillValues(inner, cluster, bundle)]),
    );
  if (typeof value !== 'string') return value;
  if (value.startsWith(LABEL)) return cluster.labels[value.slice(LABEL.length)] ?? value;
  if (!value.includes('${')) return value;
  const facts = {
    ClusterName: cluster.name,
    ClusterNamespace: 'fleet-default',
    ClusterLabels: cluster.labels,
    ClusterAnnotations: cluster.annotations,
    ClusterValues: cluster.values,
  };
  const made = renderGo(value.replaceAll(/\$\{([^}]*)\}/g, '{{$1}}'), facts, bundle.name, bundle.at);
  return made.replaceAll('<no value>', '');
};
