import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { type AgentsOf, cachedBySite } from '../source/base/site-agents.ts';
import { type Evidence, judgeRoots, judgeSite } from '../source/check/judge.ts';

/** Uses the site statements on the medium, verified with the root given by hand. Each site is verified once. */
export const mediumAgents = (open: OpenMedium, pinned: Digest, now: Date): AgentsOf =>
  cachedBySite(async (site) => {
    const documents = open.medium?.documents ?? [];
    if (!documents.some((it) => it.role === 'site' && it.site === site)) {
      throw new FleetError('SITE_MISSING', `${open.path} has no statement of site ${site}`, {
        hint: 'Name the layout or registry that has it with --from',
      });
    }
    const evidence: Evidence = { blobs: open.blobs, documents, now };
    const root = await judgeRoots(evidence, pinned);
    return { root, agents: (await judgeSite(evidence, root, site)).agents };
  });
