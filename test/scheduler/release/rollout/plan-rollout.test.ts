import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../harness/run/long.ts';
import { isSelected, reachesEveryone } from '#bundles/trust/accept/is-selected';
import type { RolloutPolicy, RolloutStage } from '../../../../scheduler/model/promotion.ts';
import { EVERYONE, planRollout } from '../../../../scheduler/release/rollout/plan-rollout.ts';
import { fleets, policies, policyOf, stageOf, RELEASE } from './rollout-world.ts';

const plan = (policy: RolloutPolicy) => planRollout(policy, RELEASE);
const rollouts = (...stages: readonly RolloutStage[]) =>
  plan(policyOf(stages)).stages.map(({ name, rollout }) => [name, rollout]);

const PILOT = { matchLabels: { ring: 'pilot' } };

describe('the plan of a rollout', () => {
  it('adds the terms of each stage to the earlier ones', () => {
    expect(
      rollouts(
        stageOf('pilot', { selector: PILOT }),
        stageOf('quarter', { percent: 25 }),
        stageOf('all', { percent: 100 }),
      ),
    ).toEqual([
      ['pilot', { selector: { ring: 'pilot' }, percent: 100 }],
      ['quarter', { selector: { ring: 'pilot' }, percent: 100, also: [{ percent: 25 }] }],
      ['all', { percent: 100 }],
    ]);
  });

  it('selects a percentage of the labelled agents when a stage has both', () => {
    expect(
      rollouts(stageOf('half', { selector: PILOT, percent: 50 }), stageOf('all', { percent: 100 })),
    ).toEqual([
      ['half', { selector: { ring: 'pilot' }, percent: 50 }],
      ['all', EVERYONE],
    ]);
  });

  it('drops terms that a wider one includes', () => {
    expect(rollouts(stageOf('few', { percent: 5 }), stageOf('more', { percent: 30 }))).toEqual([
      ['few', { percent: 5 }],
      ['more', { percent: 30 }],
      ['rest', EVERYONE],
    ]);
  });

  it("does not depend on the order of the policy's keys", () => {
    const policy = policyOf([stageOf('all', { percent: 100 })]);
    const { stages, ...rest } = policy;
    expect(plan({ stages, ...rest })).toEqual(plan(policy));
  });

  it('has nested stages, ends with all agents and selects no agent before its stage, for random fleets and policies', () => {
    fc.assert(
      fc.property(policies, fleets, (policy, agents) => {
        const { stages } = plan(policy);
        expect(reachesEveryone(stages.at(-1)?.rollout ?? { percent: 0 })).toBe(true);
        for (const agent of agents) {
          const selects = (term: (typeof stages)[number]['rollout']) => isSelected(term, agent, agent.labels);
          for (const at of policy.stages.keys()) {
            const rollout = stages[at]?.rollout ?? { percent: 0 };
            // Exactly the agents that this stage or one before names.
            const named = policy.stages
              .slice(0, at + 1)
              .some(({ selector, percent = 100 }) =>
                selects({ percent, ...(selector && { selector: selector.matchLabels }) }),
              );
            expect(selects(rollout)).toBe(named);
            // A reader that does not know `also`.
            const { also: _, ...old } = rollout;
            if (selects(old)) expect(named).toBe(true);
            const { also: __, ...later } = stages[at + 1]?.rollout ?? EVERYONE;
            if (selects(old)) expect(selects(later)).toBe(true);
          }
        }
      }),
      { numRuns: runs(1000) },
    );
  });

  it.each([1, 10, 25, 50, 75])(
    'reaches about %d percent of 10,000 agents, each by its own hash',
    (percent) => {
      const [stage] = plan(policyOf([stageOf('some', { percent })])).stages;
      const agents = Array.from({ length: 10_000 }, (_, at) => ({ site: `plant-${at}`, agent: 'line-1' }));
      const reached = agents.filter((agent) => isSelected(stage?.rollout ?? EVERYONE, agent, {})).length;
      // Each agent is a draw of its own: within four standard deviations of the wish, and not at it.
      const deviation = Math.sqrt(10_000 * (percent / 100) * (1 - percent / 100));
      expect(Math.abs(reached - percent * 100)).toBeLessThan(4 * deviation);
    },
  );
});
