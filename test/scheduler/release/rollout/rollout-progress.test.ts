import { describe, expect, it } from 'vitest';
import type { DecisionPredicate } from '#bundles/formats/statements/predicates';
import { planRollout } from '../../../../scheduler/release/rollout/plan-rollout.ts';
import { storePlan } from '../../../../scheduler/release/rollout/plan-document.ts';
import { progressOf } from '../../../../scheduler/release/rollout/rollout-progress.ts';
import { policyOf, stageOf, RELEASE } from './rollout-world.ts';

const { plan, digest } = storePlan(planRollout(policyOf([stageOf('all', { percent: 100 })]), RELEASE));

type Decision = Pick<DecisionPredicate, 'decision'> & Partial<DecisionPredicate>;

/** Decisions as they follow each other in the log: about the environment, unless they name more. */
const after = (...decisions: readonly Decision[]) =>
  progressOf(
    plan,
    digest,
    decisions.map((decision) => ({
      kind: 'decision',
      predicate: {
        fleet: 'halden',
        environment: 'prod',
        person: 'ann',
        reason: 'stock taking',
        time: '2026-11-23T08:00:00Z',
        critical: [],
        ...decision,
      },
    })),
  );

const OWN = { only: 'prod/kiosk', plan: digest };
const START: Decision = { ...OWN, decision: 'start-rollout', stage: 'all' };

describe('a pause of a whole environment', () => {
  it('pauses its rollouts, including later ones', () => {
    const paused = 'all of prod, stock taking';
    expect(after(START, { decision: 'pause' }).paused).toBe(paused);
    expect(after({ decision: 'pause' }, START).paused).toBe(paused);
  });

  it('ends when the environment is resumed, not when only the rollout is', () => {
    expect(after(START, { decision: 'pause' }, { decision: 'resume' }).paused).toBeUndefined();
    expect(after(START, { decision: 'pause' }, { ...OWN, decision: 'resume' }).paused).toBeDefined();
  });

  it('does not change the pause, the earlier failures and the rollback of a rollout', () => {
    const own = after(START, { ...OWN, decision: 'pause', reason: 'an oven' }, { decision: 'resume' });
    expect([own.paused, own.resumedAt]).toEqual(['an oven', undefined]);
    expect(after(START, { ...OWN, decision: 'take-back' }, { decision: 'resume' }).takenBack).toBe(true);
  });

  it('does not apply to another environment or channel', () => {
    expect(after(START, { decision: 'pause', environment: 'qa' }).paused).toBeUndefined();
    expect(after(START, { decision: 'pause', only: 'prod/press' }).paused).toBeUndefined();
  });
});
