import type { Hub } from '../../hub.ts';
import type { SiteRow } from '../../store/tables.ts';
import { type WriteSiteOptions, writeSites } from '../write-site.ts';
import { judgeAgain } from './compose-sites.ts';

/**
 * Ends a change of sites in the database: writes their statements to the layout, and judges again which values they lack, so that a status does not
 * ask for a value that is there, also where no hub serves.
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
