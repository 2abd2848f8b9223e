import { availableParallelism } from 'node:os';
import { defined } from '#bundles/defined';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { parseDocument } from '#bundles/json/validate';
import { inParallel } from '#bundles/in-parallel';
import type { Charts, PinnedChart } from '../charts/charts.ts';
import type {
  ClusterType,
  DeploymentTarget,
  Platform,
  RenderedPackage,
  SourceSnapshot,
} from '../../model/model.ts';
import type { Sources } from '../sources/open-sources.ts';
import { uniqueProblems, toMistake } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import type { Application } from './application.ts';
import type { ApplicationSource, HelmSource, ReadApplication } from './application-source.ts';
import { annotate } from './annotate.ts';
import { apiVersionsIn } from './api-versions.ts';
import { addTraits, type ChartTraits, chartTraits, textTraits } from './chart-traits.ts';
import { notIsolated } from './tools/network-isolation.ts';
import { boundOfTarget, checkApplication, workspaceMeter } from './bound-applications.ts';
import { bundlesApplication, readApplication } from './read-application.ts';
import { renderHelm } from './render-helm.ts';
import { renderKustomize } from './render-kustomize.ts';
import type { Tool, Tools } from './tools/tool.ts';

export type Applications = {
  /** Undefined if another reconciler fetches it. @throws FleetError the error that holds the package */
  readonly of: (rendered: RenderedPackage) => Application | undefined;
  readonly snapshots: readonly SourceSnapshot[];
  /** Programs that rendered any of them. */
  readonly tools: readonly { readonly name: string; readonly version: string }[];
  readonly charts: readonly PinnedChart[];
  /** Warnings about how they were rendered. */
  readonly advice: readonly FleetError[];
};

export type ApplicationsInput = {
  readonly platform: Platform;
  readonly sources: Sources;
  readonly packages: readonly RenderedPackage[];
  readonly tools: Tools;
  readonly charts: Charts;
};

/** Number of folders read at the same time. Those of one repository are checked out together, with the same few processes for all. */
const WIDTH = 2048;

/**
 * Reads each deployment target's files once, and renders them once for each distinct input. An application that cannot be
 * read or rendered holds only its own packages.
 * @throws FleetError ABORTED, DISK_FULL
 */
export const loadApplications = async (
  input: ApplicationsInput,
  signal: AbortSignal,
): Promise<Applications> => {
  const bundled = input.packages.filter(({ assignment }) => bundlesApplication(assignment.clusterType));
  const read = await readAll(input, bundled, signal);
  const used: Used = {
    tools: new Map(),
    charts: new Map(),
    traits: new Map(),
    versions: versionsIn(input, bundled, read),
  };
  const jobs = new Map<string, () => Promise<Application>>();
  const keys = new Map<RenderedPackage, string | FleetError>();
  for (const rendered of bundled) {
    const found = read.of(rendered);
    if (!found || found instanceof FleetError || found.source.kind === 'plain') continue;
    const { source } = found;
    const job = await orError(async () => jobOf(rendered, source, input, used, signal));
    keys.set(rendered, job instanceof FleetError ? job : job.key);
    if (!(job instanceof FleetError) && !jobs.has(job.key)) jobs.set(job.key, job.run);
  }
  const made = new Map(
    await inParallel(jobs, availableParallelism(), async ([key, run]) => [key, await orError(run)] as const),
  );
  const resultOf = (key: string | FleetError): Application | FleetError | undefined =>
    key instanceof FleetError ? key : made.get(key);
  return {
    of: (rendered) => {
      const found = read.of(rendered);
      if (!found || !bundlesApplication(rendered.assignment.clusterType)) return undefined;
      const { name, at } = rendered.assignment.target;
      if (found instanceof FleetError) throw withPlace(found, at, name);
      const result =
        found.source.kind === 'plain' ? found.source.application : resultOf(keys.get(rendered) ?? '');
      if (result instanceof FleetError) throw withPlace(result, at, name);
      return result;
    },
    snapshots: read.all.flatMap((one) => (one instanceof FleetError ? [] : one.snapshots)),
    tools: [...used.tools.values()]
      .map(({ name, version }) => ({ name, version }))
      .toSorted((a, b) => compareBytes(a.name, b.name)),
    charts: [...used.charts.values()].toSorted((a, b) =>
      compareBytes(`${a.name}:${a.version}`, `${b.name}:${b.version}`),
    ),
    advice: [
      ...notIsolated([...used.tools.values()]),
      ...uniqueProblems(
        [...made.values()].flatMap((one) => (one instanceof FleetError ? [] : (one.advice ?? []))),
      ),
    ],
  };
};

type ReadApplications = {
  readonly all: readonly (ReadApplication | FleetError)[];
  readonly of: (rendered: RenderedPackage) => ReadApplication | FleetError | undefined;
};

const readAll = async (
  { platform, sources }: ApplicationsInput,
  bundled: readonly RenderedPackage[],
  signal: AbortSignal,
): Promise<ReadApplications> => {
  // A host gets the files as they are, a cluster gets them rendered. Keyed by object, which is faster than by name for
  // 50,000 assignments.
  const wanted = { kubernetes: new Set<DeploymentTarget>(), host: new Set<DeploymentTarget>() };
  for (const { assignment } of bundled) wanted[assignment.clusterType.target].add(assignment.target);
  const meter = workspaceMeter(platform);
  const readOne = async (target: DeploymentTarget, appliedTo: keyof typeof wanted) => {
    const over = meter.over(target);
    if (over) return over;
    const read = await readApplication(sources, platform, target, appliedTo);
    meter.count(target, read);
    if (read.source.kind !== 'plain') return read;
    const { application } = read.source;
    checkApplication(boundOfTarget(platform, target), application);
    if (appliedTo === 'host') return read;
    return { ...read, source: { ...read.source, application: annotate(application, target) } };
  };
  const readFor = async (appliedTo: keyof typeof wanted) =>
    new Map(
      await inParallel(
        wanted[appliedTo],
        WIDTH,
        async (target) => [target, await orError(() => readOne(target, appliedTo))] as const,
        signal,
      ),
    );
  const found = { kubernetes: await readFor('kubernetes'), host: await readFor('host') };
  return {
    all: [...found.kubernetes.values(), ...found.host.values()],
    of: ({ assignment: { clusterType, target } }) =>
      meter.over(target) ?? found[clusterType.target].get(target),
  };
};

const orError = async <T>(work: () => Promise<T>): Promise<T | FleetError> => {
  try {
    return await work();
  } catch (error) {
    return toMistake(error, 'reading an application');
  }
};

/**
 * The kinds that a cluster has when an application arrives: those in crds/ beside the platform, and those that its bundle brings: in
 * rendered templates and in the files of all applications as they are before rendering.
 */
const versionsIn = (
  { platform }: ApplicationsInput,
  bundled: readonly RenderedPackage[],
  read: ReadApplications,
): Used['versions'] => {
  const byType = new Map<string, readonly string[]>();
  return ({ name }) => {
    const known = byType.get(name);
    if (known) return known;
    const here = bundled.filter(({ assignment }) => assignment.clusterType.name === name);
    const sources = here.flatMap((rendered) => {
      const found = read.of(rendered);
      return found && !(found instanceof FleetError) ? [...filesOf(found.source)] : [];
    });
    const versions = apiVersionsIn([
      ...(platform.definitions ?? []).map(({ bytes }) => bytes),
      ...here.flatMap(({ files }) => files.map(({ text }) => text)),
      ...sources,
    ]);
    byType.set(name, versions);
    return versions;
  };
};

const filesOf = (source: ApplicationSource): Iterable<Buffer> => {
  switch (source.kind) {
    case 'plain':
      return source.application.files.values();
    case 'kustomize':
      return source.tree.values();
    case 'helm':
      return source.chart.from === 'repository' ? source.chart.files.values() : [];
  }
};

type Used = {
  readonly tools: Map<string, Tool>;
  readonly charts: Map<string, PinnedChart>;
  /** Computed once for each chart, however many cluster types use it. */
  readonly traits: Map<HelmSource, ChartTraits>;
  /** Entries that definitions add to `.Capabilities.APIVersions` on a cluster type. */
  readonly versions: (clusterType: ClusterType) => readonly string[];
};
type Job = { readonly key: string; readonly run: () => Promise<Application> };

/** The key names every input, so that equal inputs are rendered once, however many cluster types use the result. */
const jobOf = (
  rendered: RenderedPackage,
  source: Exclude<ApplicationSource, { kind: 'plain' }>,
  input: ApplicationsInput,
  used: Used,
  signal: AbortSignal,
): Job => {
  const { target, clusterType } = rendered.assignment;
  const toolOf = async (name: 'helm' | 'kustomize'): Promise<Tool> => {
    const tool = await input.tools(name, target.name);
    used.tools.set(name, tool);
    return tool;
  };
  const bound = boundOfTarget(input.platform, target);
  if (source.kind === 'kustomize') {
    return {
      key: target.name,
      run: async () =>
        annotate(
          await renderKustomize(source, await toolOf('kustomize'), { subject: target.name, bound }, signal),
          target,
        ),
    };
  }
  const config = source.configUnder ? rendered.configData : {};
  const chart = used.traits.get(source) ?? chartTraits(source);
  used.traits.set(source, chart);
  const { varies, usesNamespace, usesVersions } = addTraits(chart, textTraits(JSON.stringify(config)));
  // A chart that does not use the namespace is rendered with a fixed one.
  const namespace = usesNamespace ? rendered.namespace : target.name;
  const kubernetes = kubernetesVersion(clusterType);
  const apiVersions = usesVersions ? used.versions(clusterType) : [];
  const facts: Digest = digestOf(
    canonicalBytes(
      defined({
        namespace,
        kubernetes,
        config,
        apiVersions: apiVersions.length > 0 ? apiVersions : undefined,
      }),
      'doubles',
    ),
  );
  return {
    key: `${target.name} ${facts}`,
    run: async () => {
      const tool = await toolOf('helm');
      const archive = await archiveOf(source.chart, input, used, signal);
      const { name: subject } = target;
      const made = await renderHelm(
        { source, archive, namespace, kubernetes, apiVersions, config, varies, subject, bound },
        tool,
        signal,
      );
      return annotate(made, target);
    },
  };
};

const archiveOf = async (
  chart: Extract<ApplicationSource, { kind: 'helm' }>['chart'],
  { charts, platform }: ApplicationsInput,
  used: Used,
  signal: AbortSignal,
): Promise<Buffer | undefined> => {
  if (chart.from === 'repository') return undefined;
  const { pinned, archive } = await charts(chart.reference, platform.imageLocks, signal);
  checkNamed(pinned);
  used.charts.set(`${pinned.name}:${pinned.version}`, pinned);
  return archive;
};

/** @throws FleetError FIELD_INVALID for a name or version that no candidate can hold */
const checkNamed = (pinned: PinnedChart): void => {
  try {
    parseDocument('candidate', { fleet: 'any', sources: [], images: [], charts: [pinned] }, 'the candidate');
  } catch (cause) {
    throw new FleetError('FIELD_INVALID', `no release can name its chart: ${toFleetError(cause).message}`, {
      hint: 'Use a shorter name',
      cause,
    });
  }
};

/** For cluster types that require none. It is fixed because the default depends on the version of Helm. */
const ANY = 'v1.30.0';

/** The Kubernetes version passed to charts: the one a cluster type requires ('>=1.31', '1.31.2'). */
export const kubernetesVersion = ({ requirements }: ClusterType): string => {
  const [, major, minor, patch] = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(requirements.kubernetes ?? '') ?? [];
  return major === undefined ? ANY : `v${major}.${minor}.${patch ?? '0'}`;
};
