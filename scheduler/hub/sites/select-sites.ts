import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Database } from '../store/tables.ts';
import { type Labels, labelsOf } from './agent-record.ts';

/** Parses 'region=north,line=a'. @throws FleetError USAGE */
export const parseSelect = (texts: readonly string[]): Labels => {
  const pairs = texts.flatMap((text) => text.split(','));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1)
        throw new FleetError('USAGE', `${JSON.stringify(pair.slice(0, 80))} is not <label>=<value>`, {
          hint: 'Write --select region=north, several labels with commas',
        });
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
};

/** Agents by site, sorted; and those without the labels at the same sites: '<site>/<agent>', sorted. */
export type SelectedAgents = {
  readonly bySite: ReadonlyMap<string, readonly string[]>;
  readonly others: readonly string[];
};

/**
 * The enrolled agents that have all these labels, by site.
 * @throws FleetError SITE_MISSING if none has; the hint names the labels that there are
 */
export const selectAgents = async (db: Database, labels: Labels): Promise<SelectedAgents> => {
  const rows = await db.selectFrom('agent').selectAll().where('revoked_at', 'is', null).execute();
  const found = rows.filter((row) => {
    const own = labelsOf(row);
    return Object.entries(labels).every(([key, value]) => Object.hasOwn(own, key) && own[key] === value);
  });
  if (found.length === 0) {
    const known = new Set(rows.flatMap((row) => Object.entries(labelsOf(row)).map((pair) => pair.join('='))));
    const shown = [...known].toSorted(compareBytes).slice(0, 10).join(', ');
    throw new FleetError(
      'SITE_MISSING',
      `no site has an agent with ${Object.entries(labels)
        .map((pair) => pair.join('='))
        .join(', ')}`,
      {
        hint:
          shown === '' ? 'No agent has labels: sites enroll gives them' : `Agents have the labels ${shown}`,
      },
    );
  }
  const bySite = Map.groupBy(
    found.toSorted((a, b) => compareBytes(a.site, b.site) || compareBytes(a.name, b.name)),
    ({ site }) => site,
  );
  const selected = new Set(found);
  const others = rows.filter((row) => bySite.has(row.site) && !selected.has(row)).map(({ id }) => id);
  return {
    bySite: new Map([...bySite].map(([site, agents]) => [site, agents.map(({ name }) => name)])),
    others: others.toSorted(compareBytes),
  };
};
