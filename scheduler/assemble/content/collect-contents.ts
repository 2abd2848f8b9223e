import { compareBytes } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import type { PlatformApplications } from '../../load/applications/platform-applications.ts';
import type { ChartReference } from '../../load/charts/manifest-settings.ts';
import type { HostPackageObject } from './host-package-object.ts';
import { hostPackagesOf } from './host-packages.ts';
import { chartKey } from '../../load/charts/charts.ts';
import type { DebianBase } from '../../model/debian-base.ts';
import type { ClusterType, Platform } from '../../model/model.ts';
import { type DebSelection, selectionKey, selectionOf } from './debs/locked-debs.ts';
import { toMistake } from '../../model/problems.ts';
import type { WantedContent } from './content.ts';

export type WantedDebs = DebSelection & { readonly of: DebianBase };

export type CollectedContents = {
  /** Addresses without their own SHA-256, unique and sorted. */
  readonly files: readonly WantedContent[];
  /** Each selection of Debian packages once, with its base. */
  readonly debs: readonly WantedDebs[];
  readonly charts: readonly { readonly reference: ChartReference; readonly at: Place }[];
  /** Errors of files that could not be read, whose addresses are therefore unknown. */
  readonly problems: readonly FleetError[];
};

/** Collects all external files, charts and Debian packages that host packages of these environments name. */
export const collectContents = async (
  hosts: AsyncIterable<PlatformApplications>,
  signal: AbortSignal,
): Promise<CollectedContents> => {
  const files = new Map<string, WantedContent>();
  const debs = new Map<string, WantedDebs>();
  const charts = new Map<string, CollectedContents['charts'][number]>();
  const problems: FleetError[] = [];
  for await (const { platform, packages, held, applications } of hosts) {
    problems.push(...held);
    for (const rendered of packages) {
      signal.throwIfAborted();
      try {
        const application = applications.of(rendered) ?? { shown: '', files: new Map() };
        for (const object of hostPackagesOf(rendered, application).all) {
          collect(object, files, charts);
          for (const selection of selectionsOf(object, rendered.assignment.clusterType, platform))
            debs.set(selectionKey(selection), debs.get(selectionKey(selection)) ?? selection);
        }
      } catch (error) {
        problems.push(toMistake(error));
      }
    }
  }
  const sorted = <T>(found: ReadonlyMap<string, T>): readonly T[] =>
    [...found].toSorted(([a], [b]) => compareBytes(a, b)).map(([, it]) => it);
  return { files: sorted(files), debs: sorted(debs), charts: sorted(charts), problems };
};

const selectionsOf = (
  object: HostPackageObject,
  clusterType: ClusterType,
  platform: Platform,
): readonly WantedDebs[] =>
  object.debs.flatMap((entry) => {
    const selection = selectionOf(entry, clusterType);
    if (!selection) return [];
    const of = platform.debianBases?.find(({ name }) => name === selection.base);
    if (of) return [{ ...selection, of }];
    throw new FleetError(
      'REFERENCE_MISSING',
      `cluster type ${clusterType.name} names the DebianBase ${selection.base}, which does not exist`,
      {
        at: clusterType.at,
        hint: `Write a DebianBase object called ${selection.base}`,
      },
    );
  });

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
    ...(object.rauc ? [object.rauc] : []),
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
