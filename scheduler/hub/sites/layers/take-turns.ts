import { compareBytes, type Digest } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import type { Hub } from '../../hub.ts';
import type { AgentRow, Database, ValuesUnitRow } from '../../store/tables.ts';
import { agentId } from '../agent-record.ts';
import { ONE_STAGE, stageOf, withoutEmptyStages } from '../split-by-stage.ts';
import { readValuesPolicies } from '../values-policies.ts';
import {
  beginRollout,
  contentOf,
  draftRollout,
  type LayersUnit,
  type NewUnit,
  readPins,
  rolloutOf,
  shortRollout,
  type StoredRollout,
} from '../values-rollout.ts';
import { differingNames, onlyNames } from '#bundles/formats/site-values/keep-names';
import type { Kept } from './kept.ts';
import type { PlannedComposition, SiteFacts } from './plan-sites.ts';
import type { ReleasedChannelLayers } from '../read-channel-layers.ts';

/** An agent that keeps values although its layers give others. */
export type WaitingAgent = { readonly site: string; readonly agent: string; readonly why: string };

/** Which agents get the values that their layers give now. */
export type Turns = {
  /** By agent id; the others get them. */
  readonly kept: ReadonlyMap<string, Kept>;
  readonly waiting: readonly WaitingAgent[];
  /** Rollouts that go on, with the number of their stages that have begun and are not paused. */
  readonly running: readonly { readonly stored: StoredRollout; readonly upTo: number }[];
};

export type TurnFacts = {
  readonly sites: readonly SiteFacts[];
  readonly layers: ReadonlyMap<string, ReleasedChannelLayers>;
  /** Values that each site would get if nothing held them back. */
  readonly wanted: readonly PlannedComposition[];
  readonly now: Date;
  readonly dryRun: boolean;
  /** Only some sites are composed: no rollout begins. */
  readonly isPart: boolean;
};

/**
 * Decides whose turn it is. Other layers in an environment with stages begin a rollout, which is stored before any statement is signed: the agents whose
 * values differ get them with the first stage that selects them. What differs under the same layers, such as a value for an input of a new release, is no
 * change of layers and is given at once; so is what an agent gets before it runs anything. Newer layers end a rollout.
 */
export const takeTurns = async (hub: Hub, facts: TurnFacts): Promise<Turns> => {
  const { sites, layers } = facts;
  const rows = sites.flatMap(({ agents }) => agents);
  const environments = [...new Set(rows.map(({ environment }) => environment))].toSorted(compareBytes);
  const { keys, layout, store } = hub;
  const pins = await readPins(store.db);
  const policies = await readValuesPolicies({ keys, layout }, new Set(environments));
  const kept = new Map<string, Kept>();
  const waiting: WaitingAgent[] = [];
  const running: Turns['running'][number][] = [];
  for (const environment of environments) {
    const targets = targetsOf(environment, layers);
    const newest = await newestLayers(store.db, environment);
    const policy = policies.get(environment);
    const isPinned = pins.has(environment);
    const isSame = newest !== undefined && namesSame(newest.rollout.targets ?? {}, targets);
    if (!isSame && facts.isPart) {
      // Enrolment: agents that run something wait for the next whole composition.
      if (policy || isPinned) for (const row of rows) if (runs(row)) kept.set(row.id, 'all');
      continue;
    }
    const current = isSame
      ? await turnOf(store.db, newest)
      : await begin(hub, facts, { environment, targets, newest, policy, isPinned });
    if (!current) continue;
    const { stored } = current;
    const upTo = begunStages(stored, isPinned);
    if (stored.state === 'running') running.push({ stored, upTo });
    for (const unit of unitsThatWait(current, upTo)) {
      const { names, before } = unit.content;
      kept.set(agentId(unit.site, unit.agent), { names: new Set(names), before: before ?? undefined });
      const pinned = isPinned ? `; the values of ${environment} are pinned` : '';
      waiting.push({ site: unit.site, agent: unit.agent, why: whyItWaits(stored, unit.stage, pinned) });
    }
  }
  return { kept, waiting, running };
};

/** The number of stages of a rollout that have begun and are not paused. */
const begunStages = ({ state, progress }: StoredRollout, isPinned: boolean): number =>
  state === 'running' && progress.paused === null && !isPinned ? progress.started.length : 0;

const unitsThatWait = ({ stored, units }: Turn, upTo: number): Turn['units'] =>
  stored.state === 'running'
    ? units.filter(({ state, stage }) => state !== 'applied' && stage >= upTo)
    : units;

const whyItWaits = ({ id, state, rollout }: StoredRollout, stage: number, pinned: string): string =>
  state === 'taken-back'
    ? `rollout ${shortRollout(id)} of these layers was taken back`
    : `waits for stage ${rollout.plan.stages[stage]?.name ?? ''} of rollout ${shortRollout(id)}${pinned}`;

type Turn = {
  readonly stored: StoredRollout;
  readonly units: readonly (Pick<ValuesUnitRow, 'site' | 'agent' | 'stage' | 'state'> & {
    readonly content: LayersUnit;
  })[];
};

const turnOf = async (db: Database, stored: StoredRollout): Promise<Turn | undefined> => {
  if (stored.state !== 'running' && stored.state !== 'taken-back') return undefined;
  const rows = await db.selectFrom('values_unit').selectAll().where('rollout', '=', stored.id).execute();
  return {
    stored,
    units: rows.flatMap((row) => {
      const content = contentOf(row);
      return 'names' in content ? [{ ...row, content }] : [];
    }),
  };
};

const newestLayers = async (db: Database, environment: string): Promise<StoredRollout | undefined> => {
  const row = await db
    .selectFrom('values_rollout')
    .selectAll()
    .where('kind', '=', 'layers')
    .where('environment', '=', environment)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && rolloutOf(row);
};

const targetsOf = (
  environment: string,
  layers: ReadonlyMap<string, ReleasedChannelLayers>,
): Readonly<Record<string, Digest | null>> =>
  Object.fromEntries(
    [...layers.values()]
      .filter(({ channel }) => channel.environment === environment)
      .map(({ channel, digest }) => [formatChannel(channel), digest ?? null]),
  );

/**
 * Whether an environment has the layers of a rollout. A channel that the rollout does not name, because no agent followed it, has the same if another one
 * has; one that is missing now could not be read.
 */
const namesSame = (
  known: Readonly<Record<string, Digest | null>>,
  present: Readonly<Record<string, Digest | null>>,
): boolean =>
  Object.entries(present).every(([channel, digest]) =>
    Object.hasOwn(known, channel) ? known[channel] === digest : Object.values(known).includes(digest),
  );

/** Whether an agent reported that it runs a release: values that it gets before change nothing there. */
const runs = ({ release_version: version }: AgentRow): boolean => version !== null;

type Changed = {
  readonly environment: string;
  readonly targets: Readonly<Record<string, Digest | null>>;
  readonly newest: StoredRollout | undefined;
  readonly policy: Parameters<typeof stageOf>[0] | undefined;
  readonly isPinned: boolean;
};

/** Begins the rollout of other layers, or records them where they are for all agents at once. In a dry run nothing is stored. */
const begin = async (
  { store }: Hub,
  { sites, wanted, now, dryRun }: TurnFacts,
  { environment, targets, newest, policy, isPinned }: Changed,
): Promise<Turn | undefined> => {
  if (!newest && !policy && !isPinned) return undefined;
  const planned = new Map(wanted.map((one) => [one.site, one]));
  const units = sites.flatMap(({ site, values, agents }) => {
    const plan = planned.get(site);
    if (!plan?.differs) return [];
    return agents
      .filter((row) => row.environment === environment && runs(row))
      .flatMap((row): NewUnit[] => {
        const before = values.composed?.[row.name];
        const names = differingNames(before, plan.composed?.[row.name]);
        if (names.length === 0) return [];
        const content = { names, before: onlyNames(before, new Set(names)) ?? null };
        return [{ site, agent: row.name, stage: stageOf(policy ?? ONE_STAGE, [row]), content }];
      });
  });
  const isStaged = isPinned || (policy !== undefined && new Set(units.map(({ site }) => site)).size > 1);
  const terms = {
    fleet: store.fleet,
    environment,
    kind: 'layers' as const,
    change: 'sites compose',
    person: store.by.person,
    reason: store.by.reason ?? `layers of ${environment}`,
    targets: { ...newest?.rollout.targets, ...targets },
    isPinned,
    ...withoutEmptyStages(policy ?? ONE_STAGE, isStaged ? units : []),
  };
  const state = isStaged && units.length > 0 ? ('running' as const) : ('complete' as const);
  const asTurn = (stored: StoredRollout): Turn | undefined =>
    state === 'complete'
      ? undefined
      : {
          stored,
          units: terms.units.map((unit) => ({
            ...unit,
            state: 'waiting' as const,
            content: unit.content as LayersUnit,
          })),
        };
  if (dryRun) return asTurn(draftRollout({ ...terms, state }, 0, now));
  const stored = await store.transact(async (tx) => {
    await tx
      .updateTable('values_rollout')
      .set({ state: 'superseded' })
      .where('kind', '=', 'layers')
      .where('environment', '=', environment)
      .where('state', '=', 'running')
      .execute();
    return beginRollout(tx, { ...terms, state }, now);
  });
  return asTurn(stored);
};
