import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../../harness/run/long.ts';
import { canonicalBytes } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import { isSelected } from '#bundles/trust/accept/is-selected';
import type { RolloutPolicy, RolloutStage } from '../../../../../scheduler/model/promotion.ts';
import { type AgentFact, judgeRollout } from '../../../../../scheduler/hub/promote/rollout/judge-rollout.ts';
import { simulateRollout, timeline } from '../../../../../scheduler/hub/promote/rollout/simulate-rollout.ts';
import { planRollout } from '../../../../../scheduler/release/rollout/plan-rollout.ts';
import type { RolloutProgress } from '../../../../../scheduler/release/rollout/rollout-progress.ts';
import { fleets, policies, policyOf, stageOf, RELEASE } from '../../../release/rollout/rollout-world.ts';

const START = new Date('2026-11-23T08:00:00Z');
const HOUR = 3600;
const after = (seconds: number): Date => new Date(START.getTime() + seconds * 1000);
const at = (seconds: number): string => formatTime(after(seconds));

const planOf = (stages: readonly RolloutStage[], over: Partial<RolloutPolicy> = {}) =>
  planRollout(policyOf(stages, over), RELEASE);

const PILOT = stageOf('pilot', { selector: { matchLabels: { ring: 'pilot' } }, soakSeconds: 12 * HOUR });
const ALL = stageOf('all', { percent: 100 });

const progressOf = (...started: readonly number[]): RolloutProgress => ({
  started: started.map(at),
  paused: undefined,
  ownPause: undefined,
  resumedAt: undefined,
  takenBack: false,
  isComplete: false,
  approvals: new Map(),
});

const agent = (name: string, ring: string, state: AgentFact['state'], over: Partial<AgentFact> = {}) => ({
  site: name,
  agent: 'line-1',
  labels: { ring },
  enrolledAt: at(-1000 * HOUR),
  heardAt: at(0),
  state,
  ...over,
});

const complies = (seconds: number): AgentFact['state'] => ({ kind: 'complies', since: at(seconds) });
const BEHIND: AgentFact['state'] = { kind: 'pending', why: 'behind' };
const failed = (seconds: number): AgentFact['state'] => ({ kind: 'failed', at: at(seconds), why: 'HEALTH' });

const late = agent('late', 'late', BEHIND);

describe('a rollout', () => {
  const plan = planOf([PILOT, ALL]);

  it('waits for reports of the agents of its stage, and names them', () => {
    const { stages, next } = judgeRollout(
      plan,
      progressOf(0),
      [agent('a', 'pilot', complies(60)), agent('b', 'pilot', BEHIND), late],
      after(20 * HOUR),
    );
    expect(stages.map(({ name, state, agents, waiting }) => [name, state, agents, waiting])).toEqual([
      ['pilot', 'running', 2, 1],
      ['all', 'waiting', 3, 2],
    ]);
    expect(stages[0]?.holding).toEqual(['b/line-1: behind']);
    expect(next).toEqual({ kind: 'wait', earliest: null, why: '1 agent of stage pilot must still comply' });
  });

  it('soaks from the time when the last agent of its stage complied', () => {
    const agents = [agent('a', 'pilot', complies(60)), agent('b', 'pilot', complies(2 * HOUR)), late];
    const before = judgeRollout(plan, progressOf(0), agents, after(14 * HOUR - 1));
    expect(before.stages[0]?.state).toBe('soaking');
    expect(before.next).toMatchObject({ kind: 'wait', earliest: at(14 * HOUR) });
    expect(judgeRollout(plan, progressOf(0), agents, after(14 * HOUR)).next).toEqual({
      kind: 'advance',
      stage: 'all',
    });
  });

  it('does not count soak time before its stage began', () => {
    const agents = [agent('a', 'pilot', complies(-100 * HOUR)), late];
    expect(judgeRollout(plan, progressOf(0), agents, after(0)).next).toMatchObject({
      kind: 'wait',
      earliest: at(12 * HOUR),
    });
  });

  it('pauses when more agents failed than the stage allows, at any time', () => {
    const agents = [agent('a', 'pilot', failed(15 * HOUR)), late];
    const { stages, next } = judgeRollout(plan, progressOf(0, 14 * HOUR), agents, after(16 * HOUR));
    expect(stages[0]?.state).toBe('failed');
    expect(next).toMatchObject({ kind: 'pause', stage: 'all' });
  });

  it('is rolled back automatically with onFailure: take-back, unless there is no earlier release', () => {
    const back = planOf([PILOT, ALL], { onFailure: 'take-back' });
    const agents = [agent('a', 'pilot', failed(60))];
    expect(judgeRollout(back, progressOf(0), agents, after(HOUR)).next.kind).toBe('take-back');
    const first = { ...back, before: null };
    expect(judgeRollout(first, progressOf(0), agents, after(HOUR)).next.kind).toBe('pause');
  });

  it.each([
    [1, { count: 1 }, 'soaking'],
    [2, { count: 1 }, 'failed'],
    [1, { percent: 10 }, 'soaking'],
    [2, { percent: 10 }, 'failed'],
  ] as const)('with %d of 10 agents failed and at most %o is %s', (count, maxFailures, state) => {
    const some = planOf([{ ...PILOT, maxFailures }, ALL]);
    const agents = Array.from({ length: 10 }, (_, index) =>
      agent(`a${index}`, 'pilot', index < count ? failed(60) : complies(60)),
    );
    expect(judgeRollout(some, progressOf(0), agents, after(HOUR)).stages[0]?.state).toBe(state);
  });

  it('waits for the approvals of the next stage', () => {
    const approved = planOf([stageOf('pilot', { percent: 10 }), { ...ALL, approvals: 2 }]);
    const one = { ...progressOf(0), approvals: new Map([['all', new Set(['key 1'])]]) };
    expect(judgeRollout(approved, one, [], after(0)).next).toMatchObject({
      kind: 'wait',
      why: 'stage all has 1 of 2 approvals; "fleet-scheduler approve" with --stage all adds one',
    });
    const two = { ...one, approvals: new Map([['all', new Set(['key 1', 'key 2'])]]) };
    expect(judgeRollout(approved, two, [], after(0)).next.kind).toBe('advance');
  });

  it('advances without agents that are absent longer than the policy allows', () => {
    const silent = agent('b', 'pilot', BEHIND, { heardAt: at(-31 * 24 * HOUR) });
    const agents = [agent('a', 'pilot', complies(0)), silent];
    const now = after(12 * HOUR);
    // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
    const excluding = planOf([PILOT, ALL], { absent: { afterSeconds: 30 * 24 * HOUR, then: 'exclude' } });
    const { stages, next } = judgeRollout(excluding, progressOf(0), agents, now);
    expect([next.kind, stages[0]?.excluded]).toEqual(['advance', 1]);
    // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
    const blocking = planOf([PILOT, ALL], { absent: { afterSeconds: 30 * 24 * HOUR, then: 'block' } });
    expect(judgeRollout(blocking, progressOf(0), agents, now).next.kind).toBe('wait');
    expect(judgeRollout(plan, progressOf(0), agents, now).next.kind).toBe('wait');
  });

  it('does not advance when all agents of its stage are excluded', () => {
    const silent = agent('b', 'pilot', BEHIND, { heardAt: at(-31 * 24 * HOUR) });
    // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
    const excluding = planOf([PILOT, ALL], { absent: { afterSeconds: 30 * 24 * HOUR, then: 'exclude' } });
    const { stages, next } = judgeRollout(excluding, progressOf(0), [silent], after(12 * HOUR));
    expect([next.kind, stages[0]?.state, stages[0]?.waiting]).toEqual(['wait', 'running', 1]);
    expect(stages[0]?.holding).toEqual([
      `b/line-1: excluded, not heard since ${at(-31 * 24 * HOUR)}, and no other agent complies`,
    ]);
  });

  it('does not wait for an agent that joined after the stage began, nor for one that left', () => {
    const joined = agent('new', 'pilot', BEHIND, { enrolledAt: at(HOUR), heardAt: null });
    const agents = [agent('a', 'pilot', complies(0)), joined];
    expect(judgeRollout(plan, progressOf(0), agents, after(12 * HOUR)).next.kind).toBe('advance');
    expect(judgeRollout(plan, progressOf(0), [], after(12 * HOUR)).next.kind).toBe('advance');
  });

  it('soaks from the first complying agent when all agents of its stage joined after it began', () => {
    const joined = (name: string, state: AgentFact['state']): AgentFact =>
      agent(name, 'pilot', state, { enrolledAt: at(HOUR) });
    // Nobody has run the release yet: the time before proves nothing.
    const silent = judgeRollout(plan, progressOf(0), [joined('a', BEHIND)], after(13 * HOUR));
    expect([silent.next.kind, silent.stages[0]?.holding]).toEqual(['wait', ['a/line-1: behind']]);
    const agents = [joined('a', complies(6 * HOUR)), joined('b', complies(11 * HOUR)), joined('c', BEHIND)];
    expect(judgeRollout(plan, progressOf(0), agents, after(13 * HOUR)).next).toMatchObject({
      kind: 'wait',
      earliest: at(18 * HOUR),
    });
    expect(judgeRollout(plan, progressOf(0), agents, after(18 * HOUR)).next.kind).toBe('advance');
  });

  it('counts only fresh reports when the policy sets an age', () => {
    const fresh = planOf([PILOT, ALL], { freshnessSeconds: HOUR });
    const agents = [agent('a', 'pilot', complies(0), { heardAt: at(HOUR) })];
    expect(judgeRollout(fresh, progressOf(0), agents, after(12 * HOUR)).next.kind).toBe('wait');
    const heard = [agent('a', 'pilot', complies(0), { heardAt: at(12 * HOUR) })];
    expect(judgeRollout(fresh, progressOf(0), heard, after(12 * HOUR)).next.kind).toBe('advance');
  });

  it('fails at its deadline, which starts again when a person resumes it', () => {
    const timed = planOf([PILOT, ALL], { deadlineSeconds: 24 * HOUR });
    const agents = [agent('a', 'pilot', BEHIND)];
    expect(judgeRollout(timed, progressOf(0), agents, after(24 * HOUR)).next.kind).toBe('pause');
    const resumed = { ...progressOf(0), resumedAt: at(30 * HOUR) };
    expect(judgeRollout(timed, resumed, agents, after(31 * HOUR)).next.kind).toBe('wait');
    expect(judgeRollout(timed, resumed, agents, after(54 * HOUR)).next.kind).toBe('pause');
  });

  it('does nothing while paused, and is not paused again for a failure known at its resumption', () => {
    const agents = [agent('a', 'pilot', failed(HOUR)), agent('b', 'pilot', complies(0))];
    const paused = { ...progressOf(0), paused: 'stage pilot failed' };
    const { stages, next } = judgeRollout(plan, paused, agents, after(99 * HOUR));
    expect([stages[0]?.state, next.kind]).toEqual(['failed', 'none']);
    const resumed = { ...progressOf(0), resumedAt: at(2 * HOUR) };
    expect(judgeRollout(plan, resumed, agents, after(3 * HOUR)).next.kind).toBe('wait');
    const again = [agent('a', 'pilot', failed(3 * HOUR)), agent('b', 'pilot', complies(0))];
    expect(judgeRollout(plan, resumed, again, after(4 * HOUR)).next.kind).toBe('pause');
  });

  it('is complete when its last stage complied, not before', () => {
    const progress = progressOf(0, 12 * HOUR);
    const agents = [agent('a', 'pilot', complies(0)), late];
    expect(judgeRollout(plan, progress, agents, after(13 * HOUR)).next.kind).toBe('wait');
    const all = [agent('a', 'pilot', complies(0)), agent('late', 'late', complies(13 * HOUR))];
    expect(judgeRollout(plan, progress, all, after(13 * HOUR)).next).toEqual({
      kind: 'complete',
    });
    // What fails later is not the rollout's.
    const broken = [agent('a', 'pilot', failed(90 * HOUR)), late];
    const ended = { ...progress, isComplete: true };
    expect(judgeRollout(plan, ended, broken, after(91 * HOUR)).next.kind).toBe('none');
  });
});

describe('a simulation', () => {
  it('lists which agents get the release, and when', () => {
    const plan = planOf([PILOT, ALL]);
    const agents = [agent('a', 'pilot', BEHIND), agent('z', 'late', BEHIND), agent('m', 'late', BEHIND)];
    expect(simulateRollout(plan, agents, START)).toEqual({
      stages: [
        { stage: 'pilot', at: at(0), agents: ['a/line-1'], total: 1 },
        { stage: 'all', at: at(12 * HOUR), agents: ['m/line-1', 'z/line-1'], total: 3 },
      ],
      completeAt: at(12 * HOUR),
    });
  });

  it('equals a run in which agents report when they are selected, byte for byte, for random fleets and policies', () => {
    fc.assert(
      fc.property(policies, fleets, (policy, agents) => {
        const plan = planOf(policy.stages);
        // The run: a loop that looks every hour, agents that keep the package that they were given, people who approve.
        const holds = new Map<string, string>();
        let progress = progressOf(0);
        let completeAt: string | undefined;
        for (let hour = 0; completeAt === undefined; hour++) {
          const now = after(hour * HOUR);
          for (let isMoving = true; isMoving; ) {
            const rollout = plan.stages[progress.started.length - 1]?.rollout ?? { percent: 0 };
            for (const one of agents) {
              const name = `${one.site}/${one.agent}`;
              if (!holds.has(name) && isSelected(rollout, one, one.labels)) holds.set(name, formatTime(now));
            }
            const facts = agents.map((one): AgentFact => {
              const since = holds.get(`${one.site}/${one.agent}`);
              const state = since === undefined ? BEHIND : ({ kind: 'complies', since } as const);
              return { ...one, enrolledAt: at(-HOUR), heardAt: formatTime(now), state };
            });
            const { next } = judgeRollout(plan, progress, facts, now);
            isMoving = next.kind === 'advance';
            if (next.kind === 'advance')
              progress = { ...progress, started: [...progress.started, formatTime(now)] };
            if (next.kind === 'complete') completeAt = formatTime(now);
            const upcoming = plan.stages[progress.started.length];
            if (next.kind === 'wait' && next.why.includes('approvals') && upcoming) {
              const keys = new Set(Array.from({ length: upcoming.approvals }, (_, index) => `k${index}`));
              progress = { ...progress, approvals: new Map([...progress.approvals, [upcoming.name, keys]]) };
              isMoving = true;
            }
          }
        }
        const run = { stages: timeline(plan, progress.started, agents), completeAt };
        expect(canonicalBytes(simulateRollout(plan, agents, START)).toString()).toBe(
          canonicalBytes(run).toString(),
        );
      }),
      { numRuns: runs(1000) },
    );
  });
});
