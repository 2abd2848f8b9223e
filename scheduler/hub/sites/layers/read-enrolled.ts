import type { Enrolled } from '../../../plan/validate/sites/advise-sites.ts';
import type { Hub } from '../../hub.ts';
import { channelOf, channelsOf, labelsOf } from '../agent-record.ts';
import { siteValuesOf } from '../issue-site.ts';
import { readChannelLayers } from '../read-channel-layers.ts';

/** All enrolled agents, and clusters that follow a tree, with the values that people gave their sites, and the bundles that their channels release now. */
export const readEnrolled = async (hub: Hub): Promise<Enrolled> => {
  const { db, fleet } = hub.store;
  const rows = await db.selectFrom('site').selectAll().execute();
  const documents = new Map(rows.map((row) => [row.name, siteValuesOf(row, fleet, row.name)]));
  const found = await db
    .selectFrom('agent')
    .selectAll()
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute();
  const agents = found.map((row) => ({
    site: row.site,
    agent: row.name,
    labels: labelsOf(row),
    channel: channelOf(row),
    document: documents.get(row.site) ?? siteValuesOf(undefined, fleet, row.site),
  }));
  const { layers } = await readChannelLayers(hub, channelsOf(found));
  return { agents, before: (channel) => layers.get(channel)?.configs ?? [] };
};
