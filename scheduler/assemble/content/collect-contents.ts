import { compareBytes } from '#bundles/digest';
import { type FleetError, type Place, toFleetError } from '#bundles/errors';
import { loadApplications } from '../../load/applications/load-applications.ts';
import type { ChartReference } from '../../load/charts/manifest-settings.ts';
import type { Tools } from '../../load/applications/tools/tool.ts';
import type { HostPackageObject } from './host-package-object.ts';
import { hostPackagesOf } from './host-packages.ts';
import { chartKey, openCharts } from '../../load/charts/charts.ts';
import { noCharts } from '../../load/charts/no-charts.ts';
import type { Platform } from '../../model/model.ts';
import { endsRun } from '../../model/problems.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { renderPlatform } from '../../render/render-platform.ts';
import { schedulePlatform } from '../../plan/schedule/schedule-platform.ts';
import type { WantedContent } from './content.ts';

export type CollectedContents = {
  /** Each address once, sorted; those that say their own SHA-256 are not among them. */
  readonly files: readonly WantedContent[];
  readonly charts: readonly { readonly reference: ChartReference; readonly at: Place }[];
  /** What could not be read: what it names is not known. */
  readonly problems: readonly FleetError[];
};

/** Everything that the packages of hosts in these environments take from elsewhere. */
export const collectContents = async (
  platforms: readonly Platform[],
  sources: Sources,
  tools: Tools,
  signal: AbortSignal,
): Promise<CollectedContents> => {
  const files = new Map<string, WantedContent>();
  const charts = new Map<string, CollectedContents['charts'][number]>();
  const problems: FleetError[] = [];
  for (const platform of platforms) {
    const schedule = schedulePlatform(platform);
    const assignments = schedule.assignments.filter(({ clusterType }) => clusterType.target === 'host');
    if (assignments.length === 0) continue;
    const { packages, held } = renderPlatform(platform, { ...schedule, assignments });
    problems.push(...held.map(({ error }) => error));
    const input = { platform, sources, packages, tools, charts: openCharts(noCharts) };
    const applications = await loadApplications(input, signal);
    for (const rendered of packages) {
      signal.throwIfAborted();
      try {
        const application = applications.of(rendered) ?? { shown: '', files: new Map() };
        for (const object of hostPackagesOf(rendered, application).all) collect(object, files, charts);
      } catch (error) {
        const known = toFleetError(error);
        if (endsRun(known)) throw known;
        problems.push(known);
      }
    }
  }
  const sorted = <T>(found: ReadonlyMap<string, T>): readonly T[] =>
    [...found].toSorted(([a], [b]) => compareBytes(a, b)).map(([, it]) => it);
  return { files: sorted(files), charts: sorted(charts), problems };
};

const collect = (
  object: HostPackageObject,
  files: Map<string, WantedContent>,
  charts: Map<string, CollectedContents['charts'][number]>,
): void => {
  for (const one of [
    ...object.files,
    ...object.debs,
    ...object.collections,
    ...object.roles,
    ...object.charts,
  ]) {
    const { url, sha256, at } = one;
    if (url !== undefined && sha256 === undefined && !files.has(url)) files.set(url, { url, sha256, at });
  }
  for (const { chart, version, at } of object.charts) {
    if (chart === undefined || version === undefined) continue;
    const reference = { chart, version };
    if (!charts.has(chartKey(reference))) charts.set(chartKey(reference), { reference, at });
  }
};
