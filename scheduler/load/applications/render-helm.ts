import { setTimeout as wait } from 'node:timers/promises';
import { defined } from '#bundles/defined';
import { type Bound, checkYaml } from '../../model/limits.ts';
import type { Value } from '../../model/model.ts';
import type { Application } from './application.ts';
import type { HelmSource } from './application-source.ts';
import type { ChartTraits } from './chart-traits.ts';
import { type ChartCall, chartCalls } from './chart-calls.ts';
import { chartImages } from './chart-images.ts';
import { checkValueNumbers } from './check-value-numbers.ts';
import { closedArchive, closedChart } from './closed-chart.ts';
import { FleetError } from '#bundles/errors';
import { keptHooks } from './kept-hooks.ts';
import { badReleaseName, helmFailed, unstable } from './helm-faults.ts';
import { runTool } from './tools/run-tool.ts';
import { splitChartOutput } from './split-chart-output.ts';
import type { Tool } from './tools/tool.ts';
import { type WorkFolder, workFolder } from './tools/work-folder.ts';

export type HelmInput = {
  readonly source: HelmSource;
  /** The verified archive of a chart from a registry or chart repository. */
  readonly archive: Buffer | undefined;
  readonly namespace: string;
  /** 'v1.30.0': the Kubernetes version passed to the chart. */
  readonly kubernetes: string;
  /** Kinds beyond Kubernetes' own for `.Capabilities.APIVersions`. */
  readonly apiVersions: readonly string[];
  readonly config: { readonly [key: string]: Value };
  /** Unless 'no', the chart is rendered twice and the results compared. */
  readonly varies: ChartTraits['varies'];
  /** The deployment target, for messages. */
  readonly subject: string;
  /** The limits for its objects; undefined if the platform itself names the chart. */
  readonly bound?: Bound | undefined;
};

/** Helm's own limit: object names are derived from the release name. */
const MAX_RELEASE_NAME = 53;

/**
 * Runs `helm template`. Returns the objects by the template they came from, with CRDs and without test hooks.
 * @throws FleetError TEMPLATE_FAILED with the template's place, TEMPLATE_LIMIT, WORKSPACE_LIMIT, OBJECT_INVALID,
 * FIELD_INVALID
 */
export const renderHelm = async (input: HelmInput, tool: Tool, signal: AbortSignal): Promise<Application> => {
  const { source, subject, varies } = input;
  const { releaseName } = source;
  if (releaseName.length > MAX_RELEASE_NAME || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(releaseName))
    throw badReleaseName(releaseName, MAX_RELEASE_NAME, subject);
  checkValueNumbers(source);
  const shown = showChart(source);
  const files = filesFor(input);
  await using work = await workFolder(files);
  const run = (zone: string): Promise<Buffer> => template(input, tool, work, [...files.keys()], zone, signal);
  const first = await run('UTC');
  if (input.bound) checkYaml(input.bound, [first], 'what helm makes');
  if (varies !== 'no') {
    // The second run is in another second and another time zone, so that output which depends on the clock differs.
    if (varies === 'with the clock') await wait(1000 - (Date.now() % 1000), undefined, { signal });
    const second = await run(`${work.files}/${ZONE}`);
    if (!first.equals(second)) throw unstable(first, second, { shown, subject, calls: callsOf(source) });
  }
  const madeFrom = (path: string): string => `${shown}${path}`;
  const images = await imagesIn(input, tool, work, signal);
  const { files: objects, hooks } = splitChartOutput(first, source.hooks, madeFrom);
  const advice = [...lookups(source, subject), ...keptHooks(hooks, subject)];
  return defined({
    shown,
    files: objects,
    madeFrom,
    images: images.length > 0 ? images : undefined,
    advice: advice.length > 0 ? advice : undefined,
  });
};

const callsOf = ({ chart }: HelmSource): readonly ChartCall[] =>
  chart.from === 'repository' ? chartCalls(chart.files, chart.shown) : [];

/** Advice on the first `lookup` of a chart, which in Helm reads the cluster. */
const lookups = (source: HelmSource, subject: string): readonly FleetError[] => {
  const found = callsOf(source).filter(({ name }) => name === 'lookup');
  const [first] = found;
  if (!first) return [];
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  return [
    new FleetError(
      'CHART_FROZEN',
      `the chart asks the cluster by lookup${more}, and here that finds nothing: it is rendered once, at the office`,
      {
        subject,
        at: first.at,
        hint: 'Give what it looks for as a value; a password that it would keep comes from a Secret that exists',
      },
    ),
  ];
};

/** The images declared by a chart and by subcharts that are folders in it. */
const imagesIn = async (
  { source, archive, subject }: HelmInput,
  tool: Tool,
  work: WorkFolder,
  signal: AbortSignal,
): Promise<NonNullable<Application['images']>> => {
  const { chart } = source;
  if (chart.from === 'repository') {
    return [...chart.files]
      .filter(([path]) => /^(?:charts\/[^/]+\/)*Chart\.yaml$/.test(path))
      .flatMap(([path, bytes]) => chartImages(`${chart.shown}${path}`, bytes));
  }
  const said = await inArchive(archive ?? EMPTY, async () => {
    const ran = {
      tool,
      args: ['show', 'chart', './chart.tgz'],
      cwd: work.files,
      home: work.home,
      env: {},
      signal,
    };
    const { code, out, errors } = await runTool(ran);
    if (code !== 0) throw helmFailed(errors, showChart(source), subject);
    return out;
  });
  // Helm formats the Chart.yaml again, so its line numbers are not the chart's.
  const at = { file: `${showChart(source)}Chart.yaml` };
  return chartImages(at.file, said).map(({ image }) => ({ image, at }));
};

const EMPTY = Buffer.alloc(0);

/** Cached for each archive: the output does not depend on the target, and many cluster types may use one chart. */
const inArchive = (archive: Buffer, show: () => Promise<Buffer>): Promise<Buffer> => {
  const known = shownOf.get(archive);
  if (known) return known;
  const found = show();
  shownOf.set(archive, found);
  found.catch(() => shownOf.delete(archive));
  return found;
};
const shownOf = new WeakMap<Buffer, Promise<Buffer>>();

/** Prefix of a template's path in messages. */
const showChart = ({ chart }: HelmSource): string =>
  chart.from === 'elsewhere' ? `${chart.reference.chart}:${chart.reference.version}/` : chart.shown;

const ZONE = 'zone';
const VALUES = 'values/';

/** Helm loads what a values.schema.json refers to, from the network or this machine's disk: such a chart is refused. */
const filesOfChart = ({ source, archive }: HelmInput): readonly (readonly [string, Buffer])[] =>
  source.chart.from === 'repository'
    ? [...closedChart(source.chart.files, source.chart.shown)].map(([path, bytes]) => [
        `chart/${path}`,
        bytes,
      ])
    : [['chart.tgz', closedArchive(archive ?? EMPTY, showChart(source))]];

const filesFor = (input: HelmInput): ReadonlyMap<string, Buffer> => {
  const { values, configUnder } = input.source;
  return new Map([
    ...filesOfChart(input),
    ...values.map(({ bytes }, at) => [`${VALUES}${at}.yaml`, bytes] as const),
    ...(configUnder ? [[`${VALUES}config.json`, configValues(input.config, configUnder)] as const] : []),
    [ZONE, otherZone()],
  ]);
};

const configValues = (config: { readonly [key: string]: Value }, under: readonly string[]): Buffer =>
  Buffer.from(JSON.stringify(under.reduceRight<Value>((inner, key) => ({ [key]: inner }), config)));

const template = async (
  { source, namespace, kubernetes, apiVersions, subject }: HelmInput,
  tool: Tool,
  work: WorkFolder,
  paths: readonly string[],
  zone: string,
  signal: AbortSignal,
): Promise<Buffer> => {
  const { chart, values, releaseName } = source;
  const { code, out, errors } = await runTool({
    tool,
    args: [
      'template',
      releaseName,
      chart.from === 'repository' ? './chart' : './chart.tgz',
      '--namespace',
      namespace,
      '--kube-version',
      kubernetes,
      ...apiVersions.flatMap((version) => ['--api-versions', version]),
      '--include-crds',
      '--skip-tests',
      // In ascending precedence, the order in which the files were added.
      ...paths.filter((path) => path.startsWith(VALUES)).flatMap((path) => ['--values', path]),
    ],
    cwd: work.files,
    home: work.home,
    env: { TZ: zone },
    signal,
  });
  if (code === 0) return out;
  const said = values.reduce(
    (text, { shown }, at) => text.replaceAll(`${VALUES}${at}.yaml`, shown),
    errors.replaceAll(`${work.files}/`, ''),
  );
  throw helmFailed(said, showChart(source), subject);
};

/** 400 days east of Greenwich: every printed date differs in year, month, day and hour. */
const OFFSET_SECONDS = 400 * 86_400 + 11 * 3600 + 7 * 60;

/**
 * A time zone file (RFC 8536, version 1) for a zone that does not exist. Output that contains a local date differs with it.
 */
const otherZone = (): Buffer => {
  const header = Buffer.alloc(44);
  header.write('TZif', 0, 'latin1');
  header.writeUInt32BE(1, 36); // one kind of local time
  header.writeUInt32BE(4, 40); // four bytes of names
  const kind = Buffer.alloc(6);
  kind.writeInt32BE(OFFSET_SECONDS, 0);
  return Buffer.concat([header, kind, Buffer.from('FAR\0', 'latin1')]);
};
