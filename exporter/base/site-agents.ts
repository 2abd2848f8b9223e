import type { SiteAgent } from '#bundles/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root';
import { judgeRoots, judgeSite } from '../check/judge.ts';
import { readSite } from '../source/read-offer.ts';
import { routedBlobs } from '../source/routed-blobs.ts';
import type { Source } from '../source/source.ts';

/** Who the source says a site's agents are, by the site's own signed statement. */
export type SiteAgents = { readonly root: TrustRoot; readonly agents: readonly SiteAgent[] };

/**
 * Each site is judged once, however many reports it sent.
 * @returns a function that throws FleetError SITE_MISSING and what an agent would refuse the statement with
 */
export const siteAgents = (source: Source, now: Date): ((site: string) => Promise<SiteAgents>) => {
  const known = new Map<string, Promise<SiteAgents>>();
  const judge = async (site: string): Promise<SiteAgents> => {
    const found = await readSite(source, site);
    const blobs = routedBlobs(source, new Map(found.map((it) => [it.document.digest, it.repository])));
    const evidence = { blobs, documents: found.map(({ document }) => document), now };
    const root = await judgeRoots(evidence);
    return { root, agents: (await judgeSite(evidence, root, site)).agents };
  };
  return (site) => {
    const judged = known.get(site) ?? judge(site);
    known.set(site, judged);
    return judged;
  };
};
