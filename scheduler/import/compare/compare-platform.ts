import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { digestOf } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { loadPlatform, sourcesOf } from '../../load/load-platform.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import type { DeploymentTarget, Platform } from '../../model/model.ts';
import { isRecord } from '#bundles/is-record';
import { viewEnvironment } from '../../views/diff/view-environment.ts';
import type { ChartContent, Imported, Manifest, Unit } from '../imported.ts';
import { isObject, listAt, readManifests, textAt, valueAt } from '../read/manifests.ts';
import { LIKE_HELM } from '../read/parse-text.ts';
import { type PlannedTarget, toName } from '../write/group-targets.ts';
import type { PlannedPlatform } from '../write/plan-platform.ts';
import { compareObjects, type ObjectComparison } from './compare-units.ts';
import { LEFT_OUT, withoutSecretValues } from '../write/secret-values.ts';

/** A chart that is elsewhere: its address, version, release, namespace and values are compared, not its objects. */
export type ChartComparison = {
  readonly chart: string;
  readonly workload: string;
  readonly state: 'equal' | 'different';
  readonly fields: readonly string[];
};

export type ClusterComparison = {
  readonly cluster: string;
  readonly environment: string;
  readonly objects: readonly ObjectComparison[];
  readonly charts: readonly ChartComparison[];
  /** Packages that the build holds, with the reason. */
  readonly held: readonly { readonly workload: string; readonly error: FleetError }[];
};

export type PlatformToCompare = Omit<PlatformOptions, 'platform' | 'sources' | 'env'> & {
  /** Folder of the written platform. */
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly imported: Imported;
  readonly planned: PlannedPlatform;
  readonly signal: AbortSignal;
};

/** Builds the written platform, and compares what each cluster type gets with what the tool applies on its cluster. */
export const comparePlatform = async (options: PlatformToCompare): Promise<readonly ClusterComparison[]> => {
  const { imported, planned, signal } = options;
  const compared: ClusterComparison[] = [];
  for (const environment of planned.environments) {
    signal.throwIfAborted();
    const sources = sourcesOf(options);
    const platform = await loadPlatform({ ...options, sources, environment, holdWorkloads: true });
    const pins = pinsByName();
    const view = await viewEnvironment(
      { ...withoutCharts(platform, planned), imageLocks: pins.locks },
      sources,
      options,
    );
    for (const { name, units } of imported.clusters) {
      const targets = planned.targets.filter(
        (target) => target.environment === environment && target.clusters.includes(name),
      );
      if (targets.length === 0) continue;
      const type = view.clusterTypes.get(toName(name));
      const packages = type?.readAssignments();
      const ours = (target: PlannedTarget): readonly Manifest[] =>
        [...(packages?.get(fullName(target)) ?? [])].flatMap(([path, bytes]) =>
          path.startsWith('manifests/')
            ? readManifests(path, path, bytes).flatMap(({ value }) =>
                isObject(value) ? [pins.restore(value)] : [],
              )
            : [],
        );
      const of = (unit: Unit): PlannedTarget | undefined =>
        targets.find((target) => target.unit.id === unit.id);
      const charts: ChartComparison[] = [];
      const objects: ObjectComparison[] = [];
      for (const unit of units) {
        const target = of(unit);
        if (!target) continue;
        const { content } = unit;
        if (content.kind === 'chart' && content.objects === undefined)
          charts.push(await compareChart(content, unit, target, platform.targets, options.platform));
        else
          objects.push(
            ...compareObjects(target.workload, unit.namespace, content.objects ?? [], ours(target)),
          );
      }
      const references = new Set(charts.map(({ workload }) => workload));
      const held = targets.flatMap((target) => {
        const error = type?.held.get(fullName(target));
        return error && !references.has(target.workload) ? [{ workload: target.workload, error }] : [];
      });
      const unread = (view.unread ?? []).map((error) => ({ workload: '', error }));
      compared.push({ cluster: name, environment, objects, charts, held: [...held, ...unread] });
    }
  }
  return compared;
};

/** The platform without charts that are elsewhere, which nothing here can fetch, and without dependencies on them. */
const withoutCharts = (platform: Platform, { targets }: PlannedPlatform): Platform => {
  const elsewhere = new Set(
    targets.filter(({ unit }) => unit.content.objects === undefined).map((target) => fullName(target)),
  );
  return {
    ...platform,
    targets: platform.targets
      .filter(({ name }) => !elsewhere.has(name))
      .map((target) => ({ ...target, dependsOn: target.dependsOn.filter((name) => !elsewhere.has(name)) })),
  };
};

const fullName = ({ workload, name }: PlannedTarget): string => `${workload}-${name}`;

/** Pins every image to the digest of its name, because this comparison asks no registry; `restore` puts the names back. */
const pinsByName = () => {
  const names = new Map<string, string>();
  const locks: Map<string, string> = new Map();
  locks.get = (image) => {
    const digest = digestOf(Buffer.from(image));
    names.set(digest, image);
    return `${image.replace(/[@].*$/, '')}@${digest}`;
  };
  const restore = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const digest = /@(sha256:[0-9a-f]{64})$/.exec(value)?.[1];
      return digest === undefined ? value : (names.get(digest) ?? value);
    }
    if (Array.isArray(value)) return value.map(restore);
    return isRecord(value)
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, restore(inner)]))
      : value;
  };
  return { locks, restore: (value: Manifest): Manifest => restore(value) as Manifest };
};

const compareChart = async (
  content: ChartContent,
  unit: Unit,
  planned: PlannedTarget,
  targets: readonly DeploymentTarget[],
  platform: string,
): Promise<ChartComparison> => {
  const { chart, releaseName } = content;
  const target = targets.find((one) => one.name === fullName(planned));
  const { manifests = {} } = target ?? {};
  const [file] = listAt(manifests, 'values');
  const path = join(platform, textAt(manifests, 'path') ?? '', typeof file === 'string' ? file : '');
  const [address, version] = chart.from === 'elsewhere' ? [chart.chart, chart.version] : [chart.path, ''];
  const left = { chart: address, version, releaseName, namespace: unit.namespace };
  const right = { ...manifests, namespace: target?.namespace };
  const fields = (['chart', 'version', 'releaseName', 'namespace'] as const).filter(
    (field) => left[field] !== valueAt(right, field),
  );
  const values = await differentValues(path, content.values);
  return {
    chart: `${address} ${version}`.trim(),
    workload: planned.workload,
    state: fields.length + values.length === 0 ? 'equal' : 'different',
    fields: [...fields, ...values],
  };
};

/** Values that were left out because they look like secrets are named, others only as `values`. */
const differentValues = async (path: string, values: Manifest): Promise<readonly string[]> => {
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
  const written = asJson(parse(await readFile(path, 'utf8').catch(() => 'null'), LIKE_HELM));
  if (isDeepStrictEqual(written, asJson(values))) return [];
  const redacted = withoutSecretValues(values);
  return isDeepStrictEqual(written, asJson(redacted.values))
    ? redacted.paths.map((one) => `values: ${one} (${LEFT_OUT})`)
    : ['values'];
};
