import type { SiteAgent } from '#bundles/formats/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root/root';
import { judgeRoots, judgeSite } from '../check/judge.ts';
import { readSite } from '../read-offer.ts';
import { routedBlobs } from '../routed-blobs.ts';
import type { Source } from '../source.ts';

/** The agents of a site, from its verified statement. */
export type SiteAgents = { readonly root: TrustRoot; readonly agents: readonly SiteAgent[] };

/** Returns the agents of a site from its signed statement. @throws FleetError without a valid statement */
export type AgentsOf = (site: string) => Promise<SiteAgents>;

/** Judges each site once. */
export const cachedBySite = (judge: AgentsOf): AgentsOf => {
  const known = new Map<string, Promise<SiteAgents>>();
  return (site) => {
    const judged = known.get(site) ?? judge(site);
    known.set(site, judged);
    return judged;
  };
};

/**
 * Returns a function that verifies the statement of each site once. It rejects with FleetError SITE_MISSING, or with the code with which
 * an agent would refuse the statement.
 */
export const siteAgents = (source: Source, now: Date): AgentsOf =>
  cachedBySite(async (site) => {
    const found = await readSite(source, site);
    const blobs = routedBlobs(source, new Map(found.map((it) => [it.document.digest, it.repository])));
    const evidence = { blobs, documents: found.map(({ document }) => document), now };
    const root = await judgeRoots(evidence);
    return { root, agents: (await judgeSite(evidence, root, site)).agents };
  });
