import { posix } from 'node:path';
import { isRecord } from '#bundles/is-record';
import type { ChartSource, Manifest, Unit } from '../imported.ts';
import {
  kindOf,
  listAt,
  nameOf,
  namespaceOf,
  type PlacedManifest,
  recordAt,
  textAt,
  textsAt,
  valueAt,
} from '../read/manifests.ts';
import { parseText } from '../read/parse-text.ts';
import { mergeValues, parseValues, setValue, typedText } from '../read/merge-values.ts';
import { noteFailure, type NoteBook } from '../read/notes.ts';
import { withVersion } from '../read/chart-version.ts';
import { namespaceUnit } from '../read/namespace-unit.ts';
import { renderChart } from '../read/render-chart.ts';
import { cleanFolder, type Rendering } from '../read/render-folder.ts';
import type { FluxSources } from './flux-sources.ts';

export type ReleaseContext = {
  /** All objects of the cluster. */
  readonly all: readonly PlacedManifest[];
  readonly sources: FluxSources;
  readonly options: Rendering;
  readonly notes: NoteBook;
};

/** A HelmRelease as a unit, and the namespace that Helm creates for it. Empty, with a note, for one that cannot be written. */
export const readHelmRelease = async (
  release: PlacedManifest,
  context: ReleaseContext,
): Promise<readonly Unit[]> => {
  const { value, at } = release;
  const subject = `HelmRelease ${namespaceOf(value) ?? ''}/${nameOf(value)}`;
  try {
    return await renderRelease(release, subject, context);
  } catch (error) {
    noteFailure(error, at, subject, context.notes);
    return [];
  }
};

const renderRelease = async (
  release: PlacedManifest,
  subject: string,
  { all, sources, options, notes }: ReleaseContext,
): Promise<readonly Unit[]> => {
  const { value, at } = release;
  const unmapped = (what: string, todo: string): readonly Unit[] => {
    notes.add('unmapped', at, subject, { what, todo });
    return [];
  };
  if (valueAt(value, 'spec', 'suspend') === true)
    return unmapped(
      'it is suspended, so Flux applies nothing of it',
      'Resume it and import again, or leave it out',
    );
  const found = chartOf(value, sources);
  if (typeof found === 'string')
    return unmapped(
      found,
      'Copy the chart into the repository, or name one of a chart repository or registry',
    );
  noteFields(release, subject, notes);
  const chart =
    found.chart.from === 'elsewhere'
      ? withVersion(found.chart, { given: options.given, at, subject, notes })
      : found.chart;
  const own = namespaceOf(value) ?? 'default';
  const target = textAt(value, 'spec', 'targetNamespace');
  const namespace = target ?? own;
  const values = valuesOf(release, found.values, all, subject, notes);
  const releaseName =
    textAt(value, 'spec', 'releaseName') ??
    (target === undefined ? nameOf(value) : `${target}-${nameOf(value)}`);
  const id = `HelmRelease/${own}/${nameOf(value)}`;
  const objects = await renderChart({ chart, releaseName, namespace, values, subject, at }, options, notes);
  if (objects === 'failed') return [];
  const needsNamespace = valueAt(value, 'spec', 'install', 'createNamespace') === true;
  const created = needsNamespace ? [namespaceUnit(namespace, at)] : [];
  return [
    ...created,
    {
      id,
      name: nameOf(value),
      qualifier: own,
      workspace: '',
      at,
      namespace,
      dependsOn: [
        ...listAt(value, 'spec', 'dependsOn').map(
          (one) => `HelmRelease/${textAt(one, 'namespace') ?? own}/${textAt(one, 'name') ?? ''}`,
        ),
        ...created.map((unit) => unit.id),
      ],
      content: { kind: 'chart', chart, releaseName, values, objects },
      annotations: [],
    },
  ];
};

type FoundChart = { readonly chart: ChartSource; readonly values: Manifest };

/** The chart, and the values files that the release names in it; or why the chart cannot be written. */
const chartOf = (value: Manifest, sources: FluxSources): FoundChart | string => {
  const own = namespaceOf(value);
  const refKind = textAt(value, 'spec', 'chartRef', 'kind');
  if (refKind !== undefined) {
    const name = textAt(value, 'spec', 'chartRef', 'name') ?? '';
    const namespace = textAt(value, 'spec', 'chartRef', 'namespace') ?? own;
    const source = sources.find(refKind, namespace, name);
    if (!source) return `its chart, the ${refKind} ${namespace ?? ''}/${name}, is not in the repository`;
    if (refKind === 'OCIRepository') return { chart: ociChart(source.value), values: {} };
    return fromSpec(recordAt(source.value, 'spec'), namespace, sources);
  }
  return fromSpec(recordAt(value, 'spec', 'chart', 'spec'), own, sources);
};

const ociChart = (value: Manifest): ChartSource => ({
  from: 'elsewhere',
  chart: textAt(value, 'spec', 'url') ?? '',
  version: textAt(value, 'spec', 'ref', 'tag') ?? textAt(value, 'spec', 'ref', 'semver') ?? '',
});

const fromSpec = (spec: Manifest, own: string | undefined, sources: FluxSources): FoundChart | string => {
  const [kind, name] = [textAt(spec, 'sourceRef', 'kind') ?? '', textAt(spec, 'sourceRef', 'name') ?? ''];
  const namespace = textAt(spec, 'sourceRef', 'namespace') ?? own;
  const chart = textAt(spec, 'chart') ?? '';
  const files = listAt(spec, 'valuesFiles').filter((one) => typeof one === 'string');
  if (kind === 'HelmRepository') {
    const url = textAt(sources.find(kind, namespace, name)?.value, 'spec', 'url');
    if (url === undefined) return `its HelmRepository ${namespace ?? ''}/${name} is not in the repository`;
    const version = textsAt(spec)['version'] ?? '';
    return {
      chart: {
        from: 'elsewhere',
        chart: `${url.replace(/\/+$/, '')}/${chart}`,
        version,
      },
      values: {},
    };
  }
  const tree = sources.treeOfSource(kind, namespace, name);
  if (!tree) return `its chart is in ${kind} ${namespace ?? ''}/${name}, which is not this repository`;
  const path = cleanFolder(chart);
  if (!tree.files.has(posix.join(path, 'Chart.yaml'))) return `there is no chart in ${chart}`;
  const values = files
    .map((file) =>
      parseValues(tree.files.get(cleanFolder(file)) ?? '', { file: tree.shown(cleanFolder(file)) }),
    )
    .reduce<Manifest>(mergeValues, {});
  return { chart: { from: 'tree', tree, path }, values };
};

const valuesOf = (
  { value, at }: PlacedManifest,
  below: Manifest,
  all: readonly PlacedManifest[],
  subject: string,
  notes: NoteBook,
): Manifest => {
  let values = below;
  for (const one of listAt(value, 'spec', 'valuesFrom')) {
    const [kind = '', name = '', key = 'values.yaml', path] = [
      textAt(one, 'kind'),
      textAt(one, 'name'),
      textAt(one, 'valuesKey'),
      textAt(one, 'targetPath'),
    ];
    const found = all.find(
      (other) =>
        kindOf(other.value) === kind &&
        nameOf(other.value) === name &&
        namespaceOf(other.value) === namespaceOf(value),
    );
    const text = kind === 'ConfigMap' ? textAt(found?.value, 'data', key) : undefined;
    const read: unknown =
      text === undefined || path !== undefined ? text && typedText(text) : parseText(text, found?.at ?? at);
    const next =
      path === undefined ? mergeable(values, read) : text !== undefined && setValue(values, path, read);
    if (next) values = next;
    else if (valueAt(one, 'optional') !== true)
      notes.add('decide', at, subject, {
        what: `values come from ${kind} ${name} (${key}), ${kind === 'Secret' ? 'which is not copied' : 'which is not in the repository'}`,
        todo: `Write those that are no secret into values.yaml of the workload; let the chart name an existing Secret for the others`,
      });
  }
  return mergeValues(values, recordAt(value, 'spec', 'values'));
};

const mergeable = (values: Manifest, read: unknown): Manifest | undefined =>
  isRecord(read) ? mergeValues(values, read) : undefined;

const READ = new Set([
  'kubeConfig',
  'serviceAccountName',
  'chart',
  'chartRef',
  'values',
  'valuesFrom',
  'releaseName',
  'targetNamespace',
  'dependsOn',
  'suspend',
]);
const OWN_WAY = new Set([
  'interval',
  'timeout',
  'install',
  'upgrade',
  'rollback',
  'uninstall',
  'test',
  'maxHistory',
  'driftDetection',
  'storageNamespace',
  'persistentClient',
  'waitStrategy',
]);

const noteFields = ({ value, at }: PlacedManifest, subject: string, notes: NoteBook): void => {
  const named = Object.keys(recordAt(value, 'spec')).filter((field) => !READ.has(field));
  const own = named.filter((field) => OWN_WAY.has(field));
  if (own.length > 0)
    notes.add('told', at, subject, {
      what: `${own.join(', ')} ${own.length === 1 ? 'is' : 'are'} not written: the agent applies, retries, rolls back and corrects by its own settings`,
      todo: 'See agent.yaml; ignore rules of driftDetection are fleet-ferry/ignore',
    });
  if (named.includes('postRenderers'))
    notes.add('unmapped', at, subject, {
      what: 'its postRenderers change the objects of the chart, which nothing here does',
      todo: 'Set the same by values of the chart, or vendor the chart and change its templates',
    });
  for (const field of named.filter((one) => !OWN_WAY.has(one) && one !== 'postRenderers'))
    notes.add('unmapped', at, subject, {
      what: `spec.${field} has no counterpart`,
      todo: 'Check whether it is needed',
    });
};
