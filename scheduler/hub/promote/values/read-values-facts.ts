import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { agentId, channelsOf } from '../../sites/agent-record.ts';
import type { StoredRollout } from '../../sites/values-rollout.ts';
import type { AgentRow, Database, ValuesUnitRow } from '../../store/tables.ts';
import type { AgentFact } from '../rollout/judge-rollout.ts';
import { readFacts } from '../rollout/read-facts.ts';
import { findOtherValues } from './running-values.ts';

type Concerned = Pick<AgentRow, 'id' | 'site' | 'name' | 'environment' | 'cluster_type'>;

/**
 * Facts about the agents that a rollout of values reaches: each is as its reports describe it, and complies once it has reported the statement of its site
 * that brings the change, and its packages run with the values that they take of it. What failed before its stage began is no failure of the rollout.
 */
export const readValuesFacts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { id, progress }: StoredRollout,
  now: Date,
): Promise<readonly AgentFact[]> => {
  const { db } = hub.store;
  const units = (await db.selectFrom('values_unit').selectAll().where('rollout', '=', id).execute()).filter(
    ({ state }) => state === 'waiting' || state === 'applied',
  );
  const bySite = Map.groupBy(units, ({ site }) => site);
  const agents = await readConcerned(db, id, bySite);
  const start = progress.started[0] ?? '';
  const known = new Map<string, AgentFact>();
  const facts = await readFacts(
    hub,
    channelsOf(agents).map((channel) => ({ channel, start })),
    now,
  );
  for (const all of facts.values()) for (const one of all) known.set(agentId(one.site, one.agent), one);
  const reached = await readReached(db, id);
  const others = await findOtherValues(
    hub,
    agents.filter((row) => reached.has(row.id)),
  );
  return agents.flatMap((row): AgentFact[] => {
    const fact = known.get(row.id);
    const own = unitsOf(row, bySite);
    if (!fact || own.length === 0) return [];
    const stage = Math.max(...own.map((unit) => unit.stage));
    return [
      {
        ...fact,
        stage,
        state: stateOf(fact.state, own, {
          reached: reached.get(row.id),
          began: progress.started[stage],
          other: others.get(row.id),
        }),
      },
    ];
  });
};

const unitsOf = (
  { site, name }: Pick<AgentRow, 'site' | 'name'>,
  bySite: ReadonlyMap<string, readonly ValuesUnitRow[]>,
): readonly ValuesUnitRow[] => (bySite.get(site) ?? []).filter(({ agent }) => agent === '' || agent === name);

const readConcerned = async (
  db: Database,
  rollout: Digest,
  bySite: ReadonlyMap<string, readonly ValuesUnitRow[]>,
): Promise<readonly Concerned[]> => {
  const rows = await db
    .selectFrom('agent')
    .select(['id', 'site', 'name', 'environment', 'cluster_type'])
    .where('revoked_at', 'is', null)
    .where('follower', 'is', null)
    .where('site', 'in', (eb) => eb.selectFrom('values_unit').select('site').where('rollout', '=', rollout))
    .orderBy('id')
    .execute();
  return rows.filter((row) => unitsOf(row, bySite).length > 0);
};

/** When the hub first heard that an agent has the statements that bring the change, and of how many places of it. */
const readReached = async (
  db: Database,
  rollout: Digest,
): Promise<ReadonlyMap<string, { readonly at: Timestamp; readonly places: number }>> => {
  const rows = await db
    .selectFrom('values_unit')
    .innerJoin('agent', 'agent.site', 'values_unit.site')
    .innerJoin('report', (join) =>
      join.onRef('report.agent', '=', 'agent.id').onRef('report.life', '=', 'agent.life'),
    )
    .select(['agent.id as id', 'values_unit.agent as place'])
    .select(({ fn }) => fn.min('report.received_at').as('at'))
    .where('values_unit.rollout', '=', rollout)
    .where('values_unit.state', '=', 'applied')
    .where('report.apart', '=', 0)
    .whereRef('report.floor_site', '>=', 'values_unit.version')
    .where((eb) =>
      eb.or([eb('values_unit.agent', '=', ''), eb('values_unit.agent', '=', eb.ref('agent.name'))]),
    )
    .groupBy(['agent.id', 'values_unit.agent'])
    .execute();
  const found = new Map<string, { readonly at: Timestamp; readonly places: number }>();
  for (const { id, at } of rows) {
    const before = found.get(id);
    found.set(id, { at: before && before.at > at ? before.at : at, places: (before?.places ?? 0) + 1 });
  }
  return found;
};

type Arrival = {
  readonly reached: { readonly at: Timestamp; readonly places: number } | undefined;
  readonly began: Timestamp | undefined;
  /** An assignment that runs with other values than the site has now. */
  readonly other: string | undefined;
};

const stateOf = (
  state: AgentFact['state'],
  units: readonly ValuesUnitRow[],
  { reached, began, other }: Arrival,
): AgentFact['state'] => {
  if (state.kind === 'failed')
    return began !== undefined && state.at >= began
      ? state
      : { kind: 'pending', why: `failed before its stage: ${state.why}` };
  if (units.some((unit) => unit.state === 'waiting'))
    return { kind: 'pending', why: 'its statement is not signed yet' };
  if (!reached || reached.places < units.length) {
    const version = Math.max(...units.map((unit) => unit.version ?? 0));
    return { kind: 'pending', why: `did not report statement ${version} of its site yet` };
  }
  if (state.kind === 'pending') return state;
  if (other !== undefined) return { kind: 'pending', why: `${other} does not run with the values yet` };
  return { kind: 'complies', since: state.since > reached.at ? state.since : reached.at };
};
