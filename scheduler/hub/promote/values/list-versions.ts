import { composedDifferences, valueDifferences } from '#bundles/formats/author-schema/decided-values';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { parseJson } from '#bundles/json/parse-json';
import type { ValuesVersions } from '#bundles/schemas/types/hub-decisions';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { readNeeds } from '../../sites/read-needs.ts';
import { agentsWithValues } from '../../sites/agents-with-values.ts';
import { readHiddenIn } from '../../sites/hidden-values.ts';
import { showChange } from './describe-values.ts';

/** The newest versions of a site's values, newest first. The oldest one of the record has no changes. */
export const listVersions = async (
  hub: Hub,
  site: string,
  limit: number,
): Promise<ValuesVersions['versions']> => {
  const { db } = hub.store;
  const rows = await db
    .selectFrom('site_values_version')
    .selectAll()
    .where('site', '=', site)
    .where('thinned', '=', 0)
    .orderBy('version', 'desc')
    .limit(limit + 1)
    .execute();
  const channels = (await agentsWithValues(db, site)).map((row) => channelOf(row));
  const isHidden = await readHiddenIn(hub, await readNeeds(hub, channels, new Map()));
  const documents = rows.map(({ document }) => parseJson(document) as SiteValues);
  return rows.slice(0, limit).flatMap(({ version, at, person, reason }, index) => {
    const [now, before] = [documents[index], documents[index + 1]];
    const changes = now && before ? valueDifferences(before, now) : [];
    const composed = now && before ? composedDifferences(before, now) : [];
    return [
      {
        version,
        at,
        person,
        reason,
        changes: changes.map((one) => showChange(one, isHidden)),
        layers: composed.map(({ label, ...one }) => ({ ...showChange(one, isHidden), name: label })),
      },
    ];
  });
};
