import { FleetError } from '#bundles/errors';
import { isSameJson } from '#bundles/json/is-same-json';
import { parseName } from '#bundles/names';
import { ownValue } from '#bundles/own-value';
import type { Documents } from '#bundles/schemas/documents';
import type { Hub } from '../../hub.ts';
import { selectAgents } from '../../sites/select-sites.ts';
import type { ValueChange } from '../../sites/set-values.ts';
import { type DecidedValue, type ValuesAt, valuesAt } from '../../sites/values-at.ts';
import type { Database, Tx } from '../../store/tables.ts';
import { changesBackTo } from './changes-back-to.ts';
import { readProposals, shortId, whoseOf } from './propose-values.ts';

/** Values of a site, of one of its agents, or of all that have some labels; or an earlier version of the values of a site. */
export type AskedValues = Omit<Documents['hub-decisions#values-change'], 'reason'>;

/**
 * The changes that a request asks for, unchecked. @throws FleetError USAGE for a request that names both or neither; SITE_MISSING if no agent has the
 * labels, and as changesBackTo
 */
export const resolveAsked = async (hub: Hub, asked: AskedValues): Promise<readonly ValueChange[]> => {
  const { site, agent, select, agents = false, sites, set = {}, unset = [], to } = asked;
  if ((site === undefined) === (select === undefined) || (site === undefined && agent !== undefined))
    throw new FleetError('USAGE', 'the request names a site, or select, and not both', {
      hint: 'Write site with or without agent for one site, or select for all that have some labels',
    });
  if (sites !== undefined && select === undefined)
    throw new FleetError('USAGE', 'sites belongs to select', { hint: 'For one site write site and version' });
  const both = Object.keys(set).find((name) => unset.includes(name));
  if (both !== undefined) throw new FleetError('USAGE', `the request sets and removes the value ${both}`);
  if (to !== undefined) {
    if (site === undefined || agent !== undefined || Object.keys(set).length + unset.length > 0)
      throw new FleetError(
        'USAGE',
        'to takes back all values of one site, so there is nothing else to change',
      );
    return (await changesBackTo(hub, parseName(site, 'site'), { version: to })).changes;
  }
  if (Object.keys(set).length + unset.length === 0)
    throw new FleetError('USAGE', 'the request changes no value', { hint: 'Write set or unset' });
  if (site !== undefined)
    return [
      {
        site: parseName(site, 'site'),
        agent: agent === undefined ? undefined : parseName(agent, 'agent'),
        set,
        unset,
      },
    ];
  const { bySite } = await selectAgents(hub.store.db, select ?? {});
  const gone = Object.keys(sites ?? {}).find((one) => !bySite.has(one));
  if (gone !== undefined)
    throw new FleetError('VALUES_CHANGED', `${gone} has no agent with these labels any more`, {
      subject: gone,
      hint: 'Look at the sites again that have them',
    });
  const wanted = [...bySite].filter(([one]) => sites === undefined || Object.hasOwn(sites, one));
  return wanted.flatMap(([one, names]) =>
    agents ? names.map((name) => ({ site: one, agent: name, set, unset })) : [{ site: one, set, unset }],
  );
};

/** A value that somebody else has changed, or proposed, since the asker saw it. */
export type Conflict = {
  readonly site: string;
  readonly agent: string | null;
  readonly name: string;
  readonly error: FleetError;
};

/** The version of the site that the asker saw, or of each of several sites. */
export type SeenVersions = number | Readonly<Record<string, number>> | undefined;

/** Values of these changes that are not as they were with the versions that the asker saw, and those that wait in a proposal. */
export const findConflicts = async (
  db: Database | Tx,
  changes: readonly ValueChange[],
  seen: SeenVersions,
): Promise<readonly Conflict[]> => {
  const conflicts: Conflict[] = [];
  const waiting = new Map(
    (await readProposals(db, 'waiting')).flatMap(({ row, proposed }) =>
      proposed.changes.map((one) => [JSON.stringify([one.site, one.agent, one.name]), row] as const),
    ),
  );
  const known = new Map<string, readonly [ValuesAt | undefined, ValuesAt | undefined]>();
  const newest =
    seen === undefined
      ? []
      : await db
          .selectFrom('site')
          .select(['name', 'version'])
          .where('name', 'in', [...new Set(changes.map(({ site }) => site))])
          .execute();
  const versions = new Map(newest.map(({ name, version }) => [name, version]));
  for (const { site, agent = null, set, unset } of changes) {
    const version = typeof seen === 'object' ? ownValue(seen, site) : seen;
    if (version !== undefined && version !== versions.get(site) && !known.has(site))
      known.set(site, [await valuesAt(db, site, { version }), await valuesAt(db, site)]);
    const [then, now] = known.get(site) ?? [];
    for (const name of [...Object.keys(set), ...unset]) {
      const place = { site, agent, name };
      const [before, after] = [valueIn(then, place), valueIn(now, place)];
      const proposal = waiting.get(JSON.stringify([site, agent, name]));
      if (then && now && !isSameJson(before?.value, after?.value))
        conflicts.push({ ...place, error: changedMeanwhile(place, after, now) });
      else if (proposal)
        conflicts.push({
          ...place,
          error: new FleetError(
            'VALUES_CHANGED',
            `${proposal.person} proposed another value ${name} of ${whoseOf(place)} at ${proposal.at}, which waits for review as ${shortId(proposal.id)}`,
            { subject: name, hint: 'Wait until it is decided, or reject it first' },
          ),
        });
    }
  }
  return conflicts;
};

/** Ends a transaction that would overwrite what somebody else decided. The function throws FleetError VALUES_CHANGED. */
export const refuseConflicts =
  (changes: readonly ValueChange[], seen: SeenVersions) =>
  async (tx: Tx): Promise<void> => {
    const [first] = await findConflicts(tx, changes, seen);
    if (first) throw first.error;
  };

type Place = Pick<Conflict, 'site' | 'agent' | 'name'>;

const valueIn = (found: ValuesAt | undefined, { agent, name }: Place): DecidedValue | undefined =>
  found?.values.find((one) => one.agent === agent && one.name === name);

const changedMeanwhile = (place: Place, after: DecidedValue | undefined, now: ValuesAt): FleetError =>
  new FleetError(
    'VALUES_CHANGED',
    after
      ? `${after.person ?? 'a rule'} changed the value ${place.name} of ${whoseOf(place)} at ${after.since}, after this form was opened`
      : `somebody removed the value ${place.name} of ${whoseOf(place)} at ${now.since} or before, after this form was opened`,
    {
      subject: place.name,
      hint: 'Look at the value that it has now, and set it again if yours is still meant',
    },
  );
