import { FleetError } from '#bundles/errors';
import type { ReleasedLayers } from '../../load/releases/site-layers-document.ts';
import { type LayeredAgent, matchesSite } from './compose-site.ts';

/** SITE_DIFFERS for the first ConfigRegistration that selects the agent and whose repository the build could not read; empty: it read all of them. */
export const unreadLayers = (
  agent: LayeredAgent,
  released: Pick<ReleasedLayers, 'unread'> | undefined,
): readonly FleetError[] => {
  const found = released?.unread.find(({ siteSelector }) => matchesSite(siteSelector, agent));
  if (!found) return [];
  return [
    new FleetError(
      'SITE_DIFFERS',
      `the repository of ConfigRegistration ${found.registration}, which selects ${agent.site}/${agent.agent}, could not be read: ${found.why}`,
      { hint: 'Correct it there; the next build reads it again' },
    ),
  ];
};
