import { isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/layout/verified';
import { RECEIPTS_ARTIFACT } from '#bundles/media-types';
import { siteRepository } from '#bundles/registry/references';
import { MAX_STATEMENT_BYTES } from '#bundles/statements/envelope';
import { readTagged } from '../source/read-tagged.ts';
import type { Source } from '../source/source.ts';
import { type AgentReport, readReport } from './report-base.ts';
import type { SiteAgents } from './site-agents.ts';

/**
 * The newest report of each agent of a site that the office has taken: they lie beside the receipts for them. One that
 * cannot be believed, of a key that was replaced since, say, is left aside: its agent then counts as one that never reported.
 * @throws FleetError SITE_MISSING and those of reading
 */
export const readSiteReports = async (
  source: Source,
  site: string,
  agentsOf: (site: string) => Promise<SiteAgents>,
): Promise<{ readonly reports: readonly AgentReport[]; readonly notes: readonly string[] }> => {
  await agentsOf(site);
  const documents = await readTagged(source, siteRepository(site), 'receipts', RECEIPTS_ARTIFACT);
  const found = (documents ?? []).filter(({ document }) => document.role === 'report');
  const reports: AgentReport[] = [];
  const notes: string[] = [];
  for (const { document, repository } of found) {
    const what = `the report of ${document.agent ?? 'an agent'} in ${source.name}`;
    const bytes = await readBlob(source.blobs(repository), document.digest, MAX_STATEMENT_BYTES);
    try {
      reports.push(await readReport(agentsOf, bytes, what));
    } catch (error) {
      if (!isFleetError(error) || error.retryable) throw error;
      notes.push(`${what} is left aside: ${error.message}`);
    }
  }
  if (found.length === 0) notes.push(`${source.name} has no report of site ${site}: everything is sent`);
  return { reports, notes };
};
