import { defined } from '#bundles/defined';
import { isFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { composeSites } from '../../sites/layers/compose-sites.ts';
import { siteSigner } from '../../sites/site-signer.ts';
import {
  moveRollout,
  type NotedStep,
  noteRollout,
  readPins,
  rolloutOf,
  runningRollouts,
  shortRollout,
  type StoredRollout,
} from '../../sites/values-rollout.ts';
import type { By } from '../../store/open-store.ts';
import { readApprovals, approvalFiles } from './judge-proposal.ts';
import { applyUnits, returnUnits } from './apply-units.ts';
import { assessValues, type JudgedValues } from './assess-values.ts';

export type SteppedValues = {
  readonly rollout: string;
  readonly environment: string;
  /** Decision of the policy in this step, if any. */
  readonly decision: NotedStep | undefined;
  /** Why a rollout stopped. */
  readonly why: string | undefined;
  /** Number of sites whose statement is new. */
  readonly sites: number;
};

export type StepOptions = { readonly now: Date; readonly signal?: AbortSignal | undefined };

/**
 * Takes each running rollout of values one step further: signs the statements that earlier decisions want, judges the rollout by its agents, and decides
 * about its next stage. The database has a decision before a statement is signed for it, so that the next call continues a step that was killed.
 * writeComposed writes the statements to the layout.
 * @returns rollouts in which something was done
 */
export const stepValues = async (hub: Hub, options: StepOptions): Promise<readonly SteppedValues[]> => {
  const stepped: SteppedValues[] = [];
  const pins = await readPins(hub.store.db);
  for (const stored of await runningRollouts(hub.store.db)) {
    const { environment } = stored.rollout;
    if (pins.has(environment)) continue;
    const isNew = stored.progress.started.length === 0;
    const begun = isNew ? await beginFirst(hub, stored, options.now) : stored;
    if (!begun) continue;
    const first = await carryOut(hub, begun, options);
    const last = first.stopped ?? (await decideNext(hub, begun, options));
    const sites = first.sites + (last?.sites ?? 0);
    if (last || isNew || sites > 0)
      stepped.push({
        rollout: shortRollout(stored.id),
        environment,
        decision: last?.decision ?? (isNew ? 'advance' : undefined),
        why: last?.why,
        sites,
      });
  }
  for (const stored of await unreturned(hub)) {
    const { sites } = await carryOut(hub, stored, options);
    const { environment } = stored.rollout;
    stepped.push({
      rollout: shortRollout(stored.id),
      environment,
      decision: undefined,
      why: undefined,
      sites,
    });
  }
  return stepped;
};

/** Rollouts whose take-back was interrupted. */
const unreturned = async ({ store: { db } }: Hub): Promise<readonly StoredRollout[]> => {
  const rows = await db
    .selectFrom('values_rollout')
    .selectAll()
    .where('state', '=', 'taken-back')
    .where('kind', '=', 'values')
    .where('id', 'in', (eb) => eb.selectFrom('values_unit').select('rollout').where('state', '=', 'applied'))
    .execute();
  return rows.map(rolloutOf);
};

type Outcome = { readonly decision: NotedStep; readonly why?: string; readonly sites: number };

/** The first stage of a rollout that was made while its environment was pinned. */
const beginFirst = (hub: Hub, stored: StoredRollout, now: Date): Promise<StoredRollout | undefined> => {
  const progress = { ...stored.progress, started: [formatTime(now)] };
  const stage = stored.rollout.plan.stages[0]?.name ?? '';
  return move(
    hub,
    stored,
    { state: 'running', progress },
    { step: 'advance', by: RULE, more: { stage }, now },
  );
};

const RULE: By = { person: null, reason: 'its values are not pinned any more' };

const decideNext = async (
  hub: Hub,
  stored: StoredRollout,
  options: StepOptions,
): Promise<Outcome | undefined> => {
  const [judged] = await assessValues(hub, [stored], options.now);
  const decided = judged && decisionOf(judged, options.now);
  if (!decided) return undefined;
  const { step, next, why, stage } =
    decided.step === 'take-back' && (await composesItself(hub, stored))
      ? pauseInstead(stored, decided)
      : decided;
  const by = { person: null, reason: why };
  const more = defined({ stage });
  const moved = await move(hub, stored, next, { step, by, more, now: options.now });
  if (!moved) return undefined;
  const { sites, stopped } = await carryOut(hub, moved, options);
  return stopped ?? { decision: step, why, sites };
};

/** Whether a signer process composes the values of layers itself: it signs no others, so that only the repository takes them back. */
export const composesItself = async (
  { keys }: Pick<Hub, 'keys'>,
  { rollout }: StoredRollout,
): Promise<boolean> => rollout.kind === 'layers' && (await keys.key('release')).judges === true;

const pauseInstead = ({ progress }: StoredRollout, { why, ...rest }: Decided): Decided => {
  const said = `${why}; a signer composes these values, so revert the layers in the repository`;
  return {
    ...rest,
    step: 'pause',
    why: said,
    next: { state: 'running', progress: { ...progress, paused: said } },
  };
};

type Decided = {
  readonly step: NotedStep;
  readonly next: Pick<StoredRollout, 'state' | 'progress'>;
  readonly why: string;
  readonly stage?: string;
};

const decisionOf = (
  { stored: { progress }, verdict: { next } }: JudgedValues,
  now: Date,
): Decided | undefined => {
  switch (next.kind) {
    case 'wait':
    case 'none':
      return undefined;
    case 'complete':
      return { step: 'complete', next: { state: 'complete', progress }, why: 'the last stage is complete' };
    case 'advance':
      return {
        step: 'advance',
        next: {
          state: 'running',
          progress: { ...progress, started: [...progress.started, formatTime(now)] },
        },
        why: 'the stage before it is complete',
        stage: next.stage,
      };
    case 'pause':
      return {
        step: 'pause',
        next: { state: 'running', progress: { ...progress, paused: next.why } },
        why: next.why,
        stage: next.stage,
      };
    case 'take-back':
      return {
        step: 'take-back',
        next: {
          state: 'taken-back',
          progress: { ...progress, takenBack: { person: null, reason: next.why } },
        },
        why: next.why,
        stage: next.stage,
      };
  }
};

type Noted = {
  readonly step: NotedStep;
  readonly by: By;
  readonly more: Readonly<Record<string, string>>;
  readonly now: Date;
};

/** Stores a decision with its note. @returns undefined if somebody else decided meanwhile */
export const move = (
  { store }: Pick<Hub, 'store'>,
  stored: StoredRollout,
  next: Pick<StoredRollout, 'state' | 'progress'>,
  { step, by, more, now }: Noted,
): Promise<StoredRollout | undefined> =>
  store.transact(async (tx) => {
    const moved = await moveRollout(tx, stored, next);
    if (moved) await noteRollout(tx, moved, step, { by, now, new: more });
    return moved;
  });

/**
 * Brings the sites to what is decided about a rollout. A value that does not fit the releases any more pauses it.
 * @returns the number of sites that changed
 */
export const carryOut = async (
  hub: Hub,
  stored: StoredRollout,
  { now, signal }: StepOptions,
): Promise<{ readonly sites: number; readonly stopped?: Outcome }> => {
  const own = await siteSigner(hub);
  if (stored.rollout.kind === 'layers') {
    const { changed } = await composeSites(hub, own, { now, signal });
    return { sites: changed.length };
  }
  const signer = { ...own, approved: await approvedOf(hub, stored) };
  if (stored.state === 'taken-back')
    return { sites: (await returnUnits(hub, stored, { signer, now, signal })).length };
  if (stored.state !== 'running' || stored.progress.paused !== null) return { sites: 0 };
  try {
    return { sites: (await applyUnits(hub, stored, { signer, now, signal })).length };
  } catch (error) {
    if (!isFleetError(error, 'SITE_VALUES')) throw error;
    const why = error.message;
    const progress = { ...stored.progress, paused: why };
    const by = { person: null, reason: why };
    await move(hub, stored, { state: 'running', progress }, { step: 'pause', by, more: {}, now });
    return { sites: 0, stopped: { decision: 'pause', why, sites: 0 } };
  }
};

/** Evidence of the approved proposal, for a signer process. */
const approvedOf = async (
  hub: Hub,
  { rollout: { proposal } }: StoredRollout,
): Promise<readonly Uint8Array[]> => {
  if (proposal === undefined) return [];
  const row = await hub.store.db
    .selectFrom('values_proposal')
    .selectAll()
    .where('id', '=', proposal)
    .executeTakeFirst();
  if (!row) return [];
  return [...(await approvalFiles(hub, await readApprovals(hub, proposal))), Buffer.from(row.document)];
};
