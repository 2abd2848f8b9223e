import { isFleetError } from '#bundles/errors';
import type { Channel } from '#bundles/names';
import type { Hub } from '../../hub.ts';
import { overwrite } from '../../store/overwrite.ts';
import { parts } from '../../store/parts.ts';
import type { PackageVersionRow } from '../../store/tables.ts';
import { openReleases, type Releases } from './read-releases.ts';

/** The layout as it was noted last, for each hub of this process. */
const noted = new WeakMap<Hub['store'], Releases>();

/**
 * Writes the packages of the current releases with their versions into the database, for the views of dashboards. Packages of
 * earlier releases keep their names. Does nothing if the layout is unchanged.
 * @throws FleetError LAYOUT_INVALID; the codes of the database
 */
export const noteVersions = async (hub: Pick<Hub, 'keys' | 'layout' | 'store'>): Promise<void> => {
  const releases = await openReleases(hub);
  if (noted.get(hub.store) === releases) return;
  const rows: PackageVersionRow[] = [];
  for (const channel of releases.channels()) rows.push(...(await rowsOf(releases, channel)));
  await hub.store.transact(async (tx) => {
    await tx
      .updateTable('package_version')
      .set({ wanted_by: null })
      .where('wanted_by', 'is not', null)
      .execute();
    for (const part of parts(rows))
      await tx
        .insertInto('package_version')
        .values(part)
        .onConflict((conflict) =>
          conflict
            .columns(['environment', 'cluster_type', 'assignment', 'package'])
            .doUpdateSet(overwrite(['workspace', 'workload', 'version', 'source_commit', 'wanted_by'])),
        )
        .execute();
  });
  noted.set(hub.store, releases);
};

/** Versions of a channel are empty when its releases cannot be read; the views then show the reports of sites only. */
const rowsOf = async (releases: Releases, channel: Channel): Promise<readonly PackageVersionRow[]> => {
  try {
    const current = (await releases.of(channel)).find((release) => release.current);
    const rows: PackageVersionRow[] = [];
    for (const [assignment, released] of current?.packages ?? []) {
      const known = await releases.versionOf(channel, assignment, released.package);
      rows.push({
        environment: channel.environment,
        cluster_type: channel.clusterType,
        assignment,
        package: released.package,
        workspace: released.workspace,
        workload: released.workload,
        version: known?.version ?? null,
        source_commit: known?.commit ?? null,
        wanted_by: current?.version ?? null,
      });
    }
    return rows;
  } catch (error) {
    if (isFleetError(error)) return [];
    throw error;
  }
};
