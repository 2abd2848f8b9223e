import type { SiteValues } from '#bundles/formats/statements/predicates';
import { givenValues, valueDifferences } from '#bundles/formats/author-schema/decided-values';
import { isSameJson } from '#bundles/json/is-same-json';
import { parseJson } from '#bundles/json/parse-json';
import { ownValue } from '#bundles/own-value';
import type { Store } from '../../store/open-store.ts';
import { parts } from '../../store/parts.ts';
import type { SiteValuesVersionRow, Tx } from '../../store/tables.ts';

/** Sites in one transaction. */
const BATCH = 20;

/**
 * Removes documents of the values of sites from before a time. Of each site the one that held at that time and all since stay; of those before, the ones
 * that an agent runs or the history names, and the ones that show who gave a value of the document that held: they are marked as thinned.
 * @returns number of removed documents
 */
export const forgetSiteValues = async (store: Store, before: string): Promise<number> => {
  const found = await store.db
    .selectFrom('site_values_version')
    .select('site')
    .where('at', '<', before)
    .where('thinned', '=', 0)
    .groupBy('site')
    .having(({ fn }) => fn.countAll(), '>', 1)
    .orderBy('site')
    .execute();
  let removed = 0;
  for (const part of parts(found, BATCH))
    removed += await store.transact(async (tx) => {
      let sum = 0;
      for (const { site } of part) sum += await thin(tx, site, before);
      return sum;
    });
  return removed;
};

const thin = async (tx: Tx, site: string, before: string): Promise<number> => {
  const rows = await tx
    .selectFrom('site_values_version')
    .selectAll()
    .where('site', '=', site)
    .orderBy('version')
    .execute();
  const held = rows.findLastIndex((row) => row.at < before && row.thinned === 0);
  const used = await usedDigests(tx, site);
  const telling = tellingRows(rows.slice(0, held + 1));
  const older = rows.slice(0, Math.max(held, 0));
  const kept = older.filter((row, index) => telling.has(index) || used.has(row.digest));
  const keeps = new Set(kept);
  const gone = older.filter((row) => !keeps.has(row));
  for (const part of parts(gone.map(({ version }) => version)))
    await tx
      .deleteFrom('site_values_version')
      .where('site', '=', site)
      .where('version', 'in', part)
      .execute();
  for (const part of parts(kept.map(({ version }) => version)))
    await tx
      .updateTable('site_values_version')
      .set({ thinned: 1 })
      .where('site', '=', site)
      .where('version', 'in', part)
      .execute();
  return gone.length;
};

/** Documents that agents of the site run now, or ran at a change that the history has. */
const usedDigests = async (tx: Tx, site: string): Promise<ReadonlySet<string | null>> => {
  const agents = tx.selectFrom('agent').select('id').where('site', '=', site);
  const running = await tx
    .selectFrom('assignment_state')
    .select('site_values')
    .distinct()
    .where('agent', 'in', agents)
    .execute();
  const reported = await tx
    .selectFrom('history')
    .select('value')
    .distinct()
    .where('agent', 'in', agents)
    .where('field', '=', 'values')
    .execute();
  return new Set([
    ...running.map(({ site_values: digest }) => digest),
    ...reported.map(({ value }) => value),
  ]);
};

/**
 * Indexes of the documents that brought the values of the last one, each with the document before it, which has another value: as valuesAt finds who
 * gave a value.
 */
const tellingRows = (rows: readonly SiteValuesVersionRow[]): ReadonlySet<number> => {
  const documents = rows.map(({ document }) => parseJson(document) as SiteValues);
  const last = documents.at(-1);
  const telling = new Set<number>();
  if (last === undefined) return telling;
  for (const { agent, name, new: value } of valueDifferences({ ...last, values: {}, agents: {} }, last)) {
    const other = documents.findLastIndex(
      (one) => !isSameJson(ownValue(givenValues(one, agent), name), value),
    );
    for (const index of [other, other + 1]) if (index >= 0) telling.add(index);
  }
  return telling;
};
