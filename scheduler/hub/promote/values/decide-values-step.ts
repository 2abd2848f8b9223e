import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import {
  findRollout,
  moveRollout,
  noteRollout,
  readPins,
  shortRollout,
  type StoredRollout,
} from '../../sites/values-rollout.ts';
import type { Tx } from '../../store/tables.ts';
import type { RolloutStep } from '../rollout/decide-step.ts';
import { carryOut, composesItself } from './step-values.ts';

export type ValuesStepRequest = {
  /** The id of the rollout, or its first digits. */
  readonly id: string;
  readonly decision: RolloutStep;
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
  readonly signal?: AbortSignal | undefined;
};

export type DecidedValuesStep = {
  readonly rollout: string;
  readonly environment: string;
  readonly decision: RolloutStep;
  /** `unchanged`: it was in that state already; nothing was written. */
  readonly outcome: 'decided' | 'unchanged';
  readonly stage: string | null;
  /** Number of sites with a new statement. */
  readonly sites: number;
};

/**
 * A person's decision about a rollout of values: noted for the audit log with the state that it changes, then carried out. writeComposed lays the statements out.
 * @throws FleetError ROLLOUT_MISSING; USAGE for a step that the rollout cannot take; BUSY; the errors of signing
 */
export const decideValuesStep = async (
  hub: Hub,
  { id, decision, person, reason, now, signal }: ValuesStepRequest,
): Promise<DecidedValuesStep> => {
  if (decision === 'take-back') await refuseWithSigner(hub, id);
  const { stored, stage, isNew } = await hub.store.transact(async (tx) => {
    const found = await findRollout(tx, id);
    const next = await nextState(tx, found, { decision, person, reason, now });
    if (!next) return { stored: found, stage: null, isNew: false };
    const { stage: named = null, ...state } = next;
    const moved = (await moveRollout(tx, found, state)) ?? found;
    const more: Readonly<Record<string, string>> = named === null ? {} : { stage: named };
    await noteRollout(tx, moved, decision, { by: { person, reason }, now, new: more });
    return { stored: moved, stage: named, isNew: true };
  });
  const { sites } = await carryOut(hub, stored, { now, signal });
  return {
    rollout: shortRollout(stored.id),
    environment: stored.rollout.environment,
    decision,
    outcome: isNew ? 'decided' : 'unchanged',
    stage,
    sites,
  };
};

/** @throws FleetError USAGE */
const refuseWithSigner = async (hub: Hub, id: string): Promise<void> => {
  const stored = await findRollout(hub.store.db, id);
  if (await composesItself(hub, stored))
    throw refusal(
      stored,
      'a signer composes the values of layers itself, and signs no others',
      'Pause the rollout, and revert the layers in the repository',
    );
};

type Next = Pick<StoredRollout, 'state' | 'progress'> & { readonly stage?: string };

type Asked = Pick<ValuesStepRequest, 'decision' | 'person' | 'reason' | 'now'>;

/** @returns undefined if it is in that state already @throws FleetError USAGE */
const nextState = async (tx: Tx, stored: StoredRollout, asked: Asked): Promise<Next | undefined> => {
  const { state, progress, rollout } = stored;
  const { decision, person, reason, now } = asked;
  switch (decision) {
    case 'advance': {
      requireRunning(stored);
      const stage = rollout.plan.stages[progress.started.length]?.name;
      if (stage === undefined)
        throw refusal(
          stored,
          'the last stage of the rollout has begun',
          'There is no further stage to advance to',
        );
      if ((await readPins(tx)).has(rollout.environment))
        throw refusal(
          stored,
          `the values of ${rollout.environment} are pinned`,
          `End it first: fleet-scheduler sites values unpin ${rollout.environment}`,
        );
      return { state, progress: { ...progress, started: [...progress.started, formatTime(now)] }, stage };
    }
    case 'pause':
      requireRunning(stored);
      return progress.paused === null ? { state, progress: { ...progress, paused: reason } } : undefined;
    case 'resume': {
      if (state === 'running' && progress.paused === null) return undefined;
      if (state !== 'taken-back') requireRunning(stored);
      if (state === 'taken-back') await resumeUnits(tx, stored);
      const { takenBack: _, ...rest } = progress;
      return { state: 'running', progress: { ...rest, paused: null, resumedAt: formatTime(now) } };
    }
    case 'take-back':
      if (state === 'taken-back') return undefined;
      if (state !== 'complete' || rollout.kind === 'layers') requireRunning(stored);
      return { state: 'taken-back', progress: { ...progress, takenBack: { person, reason } } };
  }
};

const requireRunning = (stored: StoredRollout): void => {
  if (stored.state === 'running') return;
  const what = { complete: 'complete', 'taken-back': 'taken back', superseded: 'replaced by newer layers' }[
    stored.state
  ];
  throw refusal(
    stored,
    `the rollout is ${what}`,
    stored.rollout.kind === 'layers' ? 'Change the layers in the repository' : 'Change the values again',
  );
};

const refusal = ({ id }: StoredRollout, message: string, hint: string): FleetError =>
  new FleetError('USAGE', message, { subject: shortRollout(id), hint });

/** The places that a take-back returned get the change again. */
const resumeUnits = async (tx: Tx, { id }: StoredRollout): Promise<void> => {
  await tx
    .updateTable('values_unit')
    .set({ state: 'waiting', version: null })
    .where('rollout', '=', id)
    .where('state', '=', 'returned')
    .execute();
};
