import {
  type ChangedValue,
  changedValues,
  readChangedValues,
} from '#bundles/formats/author-schema/changed-values';
import { valueDifferences } from '#bundles/formats/author-schema/decided-values';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { isRecord } from '#bundles/is-record';
import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import type { Database } from '../../store/tables.ts';

/**
 * The values that an agent's event names as changed; undefined for an agent that does not name them. An empty list: the package takes none that
 * changed.
 */
export const valuesOfEvent = (line: string): readonly ChangedValue[] | undefined => {
  const { detail } = parseJson(line) as { readonly detail?: unknown };
  return isRecord(detail) && detail['taken'] !== undefined ? readChangedValues(detail) : undefined;
};

/**
 * The values that differ between two documents of a site, for its agent: of the site, and of the agent with its name in front.
 * @param from,to digests; null: no document @returns undefined if the hub does not have both
 */
export const valuesBetween = async (
  db: Database,
  agent: string,
  { from, to }: { readonly from: string | null; readonly to: string | null },
): Promise<readonly ChangedValue[] | undefined> => {
  const [site = '', name = ''] = agent.split('/');
  const [before, after] = [await readDocument(db, site, from), await readDocument(db, site, to)];
  if (!before || !after) return undefined;
  const [old, next]: [Record<string, Json>, Record<string, Json>] = [{}, {}];
  for (const one of valueDifferences(before, after)) {
    if (one.agent !== undefined && one.agent !== name) continue;
    const shown = one.agent === undefined ? one.name : `${one.agent}.${one.name}`;
    if (one.old !== undefined) old[shown] = one.old;
    if (one.new !== undefined) next[shown] = one.new;
  }
  return changedValues(old, next);
};

const readDocument = async (
  db: Database,
  site: string,
  digest: string | null,
): Promise<SiteValues | undefined> => {
  if (digest === null) return { fleet: '', site, values: {}, agents: {} };
  const row = await db
    .selectFrom('site_values_version')
    .select('document')
    .where('site', '=', site)
    .where('digest', '=', digest as never)
    .limit(1)
    .executeTakeFirst();
  return row && (parseJson(row.document) as SiteValues);
};

type Holding = { readonly since: Timestamp };

/** The values that changed last while this package ran, as the agent named them; undefined: none did. */
export const lastValues = async (
  db: Database,
  agent: string,
  {
    assignment,
    since,
    last,
  }: { readonly assignment: string; readonly since: Holding; readonly last: Holding | undefined },
): Promise<{ readonly since: Timestamp; readonly changed: readonly ChangedValue[] } | undefined> => {
  if (last === undefined || last.since <= since.since) return undefined;
  const row = await db
    .selectFrom('history')
    .innerJoin('event', (join) =>
      join
        .onRef('event.agent', '=', 'history.agent')
        .onRef('event.life', '=', 'history.life')
        .onRef('event.seq', '=', 'history.seq'),
    )
    .select('event.line')
    .where('history.agent', '=', agent)
    .where('history.assignment', '=', assignment)
    .where('history.field', '=', 'values')
    .where('history.observed_at', '=', last.since)
    .orderBy('history.seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const changed = row && valuesOfEvent(row.line);
  return changed === undefined || changed.length === 0 ? undefined : { since: last.since, changed };
};
