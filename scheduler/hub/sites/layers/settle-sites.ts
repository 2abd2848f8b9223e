import type { Hub } from '../../hub.ts';
import type { SiteRow } from '../../store/tables.ts';
import { type WriteSiteOptions, writeSites } from '../write-site.ts';
import { judgeAgain } from './compose-sites.ts';

/**
 * What follows a change of sites in the database: their statements go to the layout, and what they lack is judged again, so that a status without a
 * hub that serves does not ask for a value that is there.
 * @returns the number of sites whose statement the layout had otherwise @throws FleetError ROLLBACK; as layOutSites
 */
export const settleSites = async (
  hub: Hub,
  sites: readonly Pick<SiteRow, 'name'>[],
  options: WriteSiteOptions,
): Promise<number> => {
  const written = await writeSites(hub, sites, options);
  await judgeAgain(
    hub,
    sites.map(({ name }) => name),
    options.now,
  );
  return written;
};
