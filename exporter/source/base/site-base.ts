import { isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import { RECEIPTS_ARTIFACT } from '#bundles/media-types';
import { siteRepository } from '#bundles/transport/registry/references';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { readTagged } from '../read-tagged.ts';
import type { Source } from '../source.ts';
import { type AgentReport, readReport } from './report-base.ts';
import type { SiteAgents } from './site-agents.ts';

/**
 * The newest report of each agent of a site, from the receipts artifact. A report that does not verify, for example because the
 * key was replaced, becomes a note; its agent then counts as one without a report.
 * @throws FleetError SITE_MISSING, and the errors of readTagged and readBlob
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
      notes.push(`${what} is skipped: ${error.message}`);
    }
  }
  if (found.length === 0) notes.push(`${source.name} has no report of site ${site}: everything is sent`);
  return { reports, notes };
};
