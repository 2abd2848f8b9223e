import { type Digest, digestOf } from '#bundles/digest';
import type { ComposedValues } from '#bundles/formats/statements/predicates';
import { FleetError } from '#bundles/errors';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { formatTime, type Timestamp } from '#bundles/time';
import type { StagePlan } from '../../model/promotion.ts';
import { noteChange } from '../changes/note-change.ts';
import type { By } from '../store/open-store.ts';
import { parts } from '../store/parts.ts';
import type { Database, Tx, ValuesRolloutRow, ValuesUnitRow } from '../store/tables.ts';

/** A change of values that reaches the sites of one environment in stages. */
export type ValuesRollout = {
  readonly fleet: string;
  readonly environment: string;
  readonly kind: ValuesRolloutRow['kind'];
  /** Counts the rollouts of the fleet, so that the same change twice has two names. */
  readonly number: number;
  /** Name of the change at each site in the audit log. */
  readonly change: string;
  readonly person: string | null;
  readonly reason: string | null;
  readonly time: Timestamp;
  readonly allowUnknown?: true;
  /** The proposal that was approved. */
  readonly proposal?: Digest;
  /** Digests of the layers by formatChannel; null: the channel has none. */
  readonly targets?: Readonly<Record<string, Digest | null>>;
  /** Without the stages that would reach none of the places. */
  readonly plan: StagePlan;
};

/** How far a rollout of values is. */
export type ValuesProgress = {
  /** When each stage began. Empty: the environment was pinned when the change was made. */
  readonly started: readonly Timestamp[];
  /** Why no further stage begins; null: it does. */
  readonly paused: string | null;
  readonly resumedAt: Timestamp | null;
  /** Person who rolled it back, and the reason; absent if nobody did. */
  readonly takenBack?: By;
};

/** Action of a rollout at one place. */
export type UnitContent =
  | {
      readonly set: Readonly<Record<string, Json>>;
      readonly unset: readonly string[];
      /** The values that `set` and `unset` replace. */
      readonly old: Readonly<Record<string, Json>>;
    }
  /** Names of values from layers that differ, and what the agent had before. */
  | { readonly names: readonly string[]; readonly before: ComposedValues | null };

export type GivenUnit = Extract<UnitContent, { readonly set: unknown }>;
export type LayersUnit = Extract<UnitContent, { readonly names: unknown }>;

export type StoredRollout = {
  readonly id: Digest;
  readonly state: ValuesRolloutRow['state'];
  readonly rollout: ValuesRollout;
  readonly progress: ValuesProgress;
};

export type NewUnit = Pick<ValuesUnitRow, 'site' | 'agent' | 'stage'> & { readonly content: UnitContent };

export const rolloutOf = ({ id, state, document, progress }: ValuesRolloutRow): StoredRollout => ({
  id,
  state,
  rollout: parseJson(document) as ValuesRollout,
  progress: parseJson(progress) as ValuesProgress,
});

export const contentOf = ({ content }: Pick<ValuesUnitRow, 'content'>): UnitContent =>
  parseJson(content) as UnitContent;

/** As people write it. */
export const shortRollout = (id: Digest): string => id.slice('sha256:'.length, 'sha256:'.length + 12);

/** A rollout that is not stored: it has begun its first stage unless its environment is pinned. */
export const draftRollout = (
  { units: _, isPinned, state = 'running', ...terms }: Beginning,
  number: number,
  now: Date,
): StoredRollout => {
  const rollout: ValuesRollout = { ...terms, number, time: formatTime(now) };
  const started = state === 'running' && !isPinned ? [formatTime(now)] : [];
  const id = digestOf(canonicalJson(rollout, 'doubles'));
  return { id, state, rollout, progress: { started, paused: null, resumedAt: null } };
};

/**
 * Stores a rollout, notes it for the audit log, and begins its first stage unless its environment is pinned. Its changes are made by the caller.
 * A state `complete` only records the layers that an environment has.
 */
export const beginRollout = async (tx: Tx, beginning: Beginning, now: Date): Promise<StoredRollout> => {
  const { units } = beginning;
  const { last } = await tx
    .selectFrom('values_rollout')
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  const stored = draftRollout(beginning, (last ?? 0) + 1, now);
  const { id, state, rollout, progress } = stored;
  const { environment, kind, number, time: at } = rollout;
  await tx
    .insertInto('values_rollout')
    .values({
      id,
      environment,
      kind,
      number,
      at,
      document: canonicalJson(rollout, 'doubles'),
      state,
      progress: canonicalJson(progress),
    })
    .execute();
  for (const part of parts(units))
    await tx
      .insertInto('values_unit')
      .values(
        part.map(({ site, agent, stage, content }) => ({
          site,
          agent,
          stage,
          rollout: id,
          state: 'waiting' as const,
          version: null,
          content: canonicalJson(content, 'doubles'),
        })),
      )
      .execute();
  if (state === 'running') {
    const sites = new Set(units.map(({ site }) => site)).size;
    const stages = rollout.plan.stages.map(({ name }) => name);
    const stage = progress.started.length > 0 ? (stages[0] ?? null) : null;
    await noteRollout(tx, stored, 'begin', { by: rollout, now, new: { stage, sites, stages } });
  }
  return stored;
};

export type Beginning = Omit<ValuesRollout, 'number' | 'time'> & {
  readonly units: readonly NewUnit[];
  readonly isPinned: boolean;
  readonly state?: 'running' | 'complete';
};

/** A step of a rollout, as the audit log names it. */
export type NotedStep = 'begin' | 'advance' | 'pause' | 'resume' | 'take-back' | 'complete' | 'withdraw';

/** Notes a step of a rollout for the audit log. */
export const noteRollout = async (
  tx: Tx,
  { id, rollout }: StoredRollout,
  step: NotedStep,
  {
    by,
    now,
    new: after,
  }: { readonly by: By; readonly now: Date; readonly new: Readonly<Record<string, Json>> },
): Promise<void> => {
  const { person, reason } = by;
  const about = rollout.environment;
  const values = { change: rollout.change, rollout: shortRollout(id), ...after };
  await noteChange(
    tx,
    { change: `values rollout ${step}`, about, old: null, new: values },
    { person, reason },
    now,
  );
};

/** Rollouts that are not over, oldest first. */
export const runningRollouts = async (
  db: Database | Tx,
  kind?: ValuesRolloutRow['kind'],
): Promise<readonly StoredRollout[]> => {
  let query = db.selectFrom('values_rollout').selectAll().where('state', '=', 'running');
  if (kind !== undefined) query = query.where('kind', '=', kind);
  return (await query.orderBy('number').execute()).map(rolloutOf);
};

export const rolloutMissing = (id: string): FleetError =>
  new FleetError('ROLLOUT_MISSING', `there is no rollout of values ${JSON.stringify(id.slice(0, 80))}`, {
    hint: 'See them with: fleet-scheduler rollout status',
  });

/** The rollout whose id begins so. @throws FleetError ROLLOUT_MISSING; USAGE for several */
export const findRollout = async (db: Database | Tx, id: string): Promise<StoredRollout> => {
  const hex = id.replace(/^sha256:/, '');
  const rows = /^[0-9a-f]{4,64}$/.test(hex)
    ? await db
        .selectFrom('values_rollout')
        .selectAll()
        .where('id', 'like', `sha256:${hex}%`)
        .limit(2)
        .execute()
    : [];
  const [only, other] = rows;
  if (only && !other) return rolloutOf(only);
  if (other)
    throw new FleetError('USAGE', `several rollouts of values begin with ${hex}`, {
      hint: 'Write more of its digits',
    });
  throw rolloutMissing(id);
};

/**
 * Stores another state of a rollout, in the transaction that decides it. @returns undefined if somebody else decided meanwhile
 */
export const moveRollout = async (
  tx: Tx,
  { id, state, progress }: StoredRollout,
  next: Pick<StoredRollout, 'state' | 'progress'>,
): Promise<StoredRollout | undefined> => {
  const row = await tx
    .selectFrom('values_rollout')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  if (row.state !== state || row.progress !== canonicalJson(progress)) return undefined;
  await tx
    .updateTable('values_rollout')
    .set({ state: next.state, progress: canonicalJson(next.progress) })
    .where('id', '=', id)
    .execute();
  return { ...rolloutOf(row), ...next };
};

/** Environments whose sites keep their values. */
export const readPins = async (db: Database | Tx): Promise<ReadonlyMap<string, By>> =>
  new Map((await db.selectFrom('values_pin').selectAll().execute()).map((row) => [row.environment, row]));

/** Marks places of a rollout as reached by a statement of their site. */
export const markApplied = async (
  tx: Tx,
  rollout: Digest,
  site: string,
  { version, upTo }: { readonly version: number; readonly upTo: number },
): Promise<void> => {
  await tx
    .updateTable('values_unit')
    .set({ state: 'applied', version })
    .where('rollout', '=', rollout)
    .where('site', '=', site)
    .where('state', '=', 'waiting')
    .where('stage', '<', upTo)
    .execute();
};

/** Marks statements of sites as missing in the layout, for writeComposed. */
export const markUnwritten = async (tx: Tx, sites: readonly string[], now: Date): Promise<void> => {
  for (const part of parts(sites))
    await tx
      .insertInto('site_layers')
      .values(part.map((site) => ({ site, declared: null, held: null, since: formatTime(now), written: 0 })))
      .onConflict((conflict) => conflict.column('site').doUpdateSet({ written: 0 }))
      .execute();
};
