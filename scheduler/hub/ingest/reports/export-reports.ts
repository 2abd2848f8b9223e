import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { reportName, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import type { Database } from '../../store/tables.ts';
import { restoreReports } from './restore-reports.ts';

export type ExportedReports = {
  readonly agent: string;
  readonly reports: number;
  /** Reports whose events the hub does not have as they were signed. */
  readonly lost: number;
  /** Folder below the given one. */
  readonly folder: string;
};

/**
 * Writes the stored reports of a site's agents into a folder, each as the agent signed it and under the name that it has on a
 * medium, and beside them the site statement, which names the agents' keys.
 * @throws FleetError SITE_MISSING; PERMISSION, DISK_FULL, IO
 */
export const exportStoredReports = async (
  db: Database,
  folder: string,
  { site, agent }: { readonly site: string; readonly agent?: string | undefined },
  signal: AbortSignal,
): Promise<readonly ExportedReports[]> => {
  const row = await db.selectFrom('site').select('statement').where('name', '=', site).executeTakeFirst();
  const agents = await db
    .selectFrom('agent')
    .select(['id', 'life', 'folder'])
    .where('site', '=', site)
    .where('follower', 'is', null)
    .orderBy('id')
    .execute();
  const chosen = agents.filter(({ id }) => agent === undefined || id === `${site}/${agent}`);
  if (!row || chosen.length === 0) {
    const what = agent === undefined ? `agent of site ${site}` : `agent ${site}/${agent}`;
    throw new FleetError('SITE_MISSING', `no ${what} is known here`, {
      hint: 'fleet-scheduler sites list shows them',
    });
  }
  const exported: ExportedReports[] = [];
  for (const { id, life: lives, folder: own } of chosen) {
    const path = `${REPORTS_FOLDER}/${own}`;
    await createDirectory(join(folder, path));
    let [reports, lost] = [0, 0];
    for (let life = 1; life <= lives; life++) {
      signal.throwIfAborted();
      const restored = await restoreReports(db, { id, life, after: 0 });
      for (const { first, last, events, statement } of restored.reports) {
        const name = join(folder, path, `${life === lives ? '' : `life-${life}-`}${reportName(first, last)}`);
        await writeFileAtomically(`${name}.ndjson`, events);
        await writeFileAtomically(`${name}.sigstore.json`, statement);
      }
      reports += restored.reports.length;
      lost += restored.lost;
    }
    exported.push({ agent: id, reports, lost, folder: path });
  }
  await writeFileAtomically(join(folder, `${site}.site.sigstore.json`), Buffer.from(row.statement));
  return exported;
};
