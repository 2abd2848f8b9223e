import { defined } from '#bundles/defined';
import { parseTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { findRollout, rolloutOf, shortRollout, type StoredRollout } from '../../sites/values-rollout.ts';
import { type CurvePoint, curveOf } from '../rollout/rollout-curve.ts';
import type { RolloutVerdict } from '../rollout/judge-rollout.ts';
import { type Simulation, simulateRollout } from '../rollout/simulate-rollout.ts';
import { assessValues, judgedPlan } from './assess-values.ts';
import { readValuesFacts } from './read-values-facts.ts';

/** A rollout of values, judged now. */
export type ListedValuesRollout = RolloutVerdict & {
  readonly rollout: string;
  readonly environment: string;
  /** `values`: given by people; `layers`: composed from the repository. */
  readonly kind: 'values' | 'layers';
  readonly state: StoredRollout['state'];
  readonly policy: string;
  readonly person: string | null;
  readonly reason: string | null;
  readonly since: string;
  readonly curve: readonly CurvePoint[];
};

/**
 * The rollouts of values of these environments, judged now: those that run, and the newest of each environment that was taken back.
 * @param environments undefined: all
 */
export const listValuesRollouts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  environments: readonly string[] | undefined,
  now: Date,
): Promise<readonly ListedValuesRollout[]> => {
  if (environments?.length === 0) return [];
  let query = hub.store.db
    .selectFrom('values_rollout')
    .selectAll()
    .where('state', 'in', ['running', 'taken-back']);
  if (environments) query = query.where('environment', 'in', environments);
  const rows = (await query.orderBy('environment').orderBy('number').execute()).map(rolloutOf);
  const last = new Map(rows.map((one) => [one.rollout.environment, one.id]));
  const shown = rows.filter(
    ({ id, state, rollout }) => state === 'running' || last.get(rollout.environment) === id,
  );
  return (await assessValues(hub, shown, now)).map(({ stored, verdict, compliant }) => {
    const { environment, kind, plan, person, reason, time } = stored.rollout;
    return {
      rollout: shortRollout(stored.id),
      environment,
      kind,
      state: stored.state,
      policy: plan.policy,
      person,
      reason,
      since: time,
      curve: curveOf(compliant, stored.progress.started[0], now),
      ...verdict,
    };
  });
};

/** Simulates a rollout of values from its start on, if each agent complies at once. @throws FleetError ROLLOUT_MISSING, USAGE */
export const simulateValues = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  id: string,
  now: Date,
): Promise<Simulation & { readonly rollout: string; readonly agents: number }> => {
  const stored = await findRollout(hub.store.db, id);
  const facts = await readValuesFacts(hub, stored, now);
  const [started] = stored.progress.started;
  const simulation = simulateRollout(
    judgedPlan(stored),
    facts.map(({ site, agent, labels, stage }) => ({
      site,
      agent,
      labels,
      ...defined({ stage }),
    })),
    started === undefined ? now : parseTime(started),
  );
  return { rollout: shortRollout(stored.id), agents: facts.length, ...simulation };
};
