import { expect, test } from 'vitest';
import type { Decisions } from '../../../../../scheduler/hub/promote/facts/decisions.ts';
import { judgeProgress, worseProgress } from '../../../../../scheduler/hub/promote/judge/judge-status.ts';
import { agent, agents, facts, NOW } from '../gate/gate-cases.ts';

const UNDECIDED: Decisions = { approvals: [], rejected: undefined, paused: undefined, promoted: undefined };

const judged = (found = facts(), decisions: Partial<Decisions> = {}) =>
  judgeProgress(undefined, found, { decisions: { ...UNDECIDED, ...decisions }, now: NOW });

const failed = agent('s9/a', { state: { kind: 'failed', why: 'the secret of site s9' } });

test('a release is pending until every agent complies, and then a success', () => {
  const silent = agent('s8/a', { knownAt: null });
  expect(judged(facts({ agents: [...agents(3), silent] }))).toMatchObject({ state: 'pending' });
  expect(judged(facts({ agents: [] }))).toMatchObject({ state: 'pending' });
  expect(judged()).toEqual({ state: 'success', description: 'qa complies' });
});

test('failures of agents and a rejection are failures, without the names and the messages of sites', () => {
  const found = judged(facts({ agents: [...agents(3), failed] }));
  expect(found).toEqual({ state: 'failure', description: 'qa: agents report failures: 1' });
  expect(judged(facts(), { rejected: 'rejected by ada: it leaks' })).toEqual({
    state: 'failure',
    description: 'qa: rejected by ada: it leaks',
  });
});

test('nothing new is said of a candidate that another one was promoted after', () => {
  expect(judged(facts(), { promoted: 'before' })).toBeUndefined();
  expect(judged(facts(), { promoted: 'now' })).toMatchObject({ state: 'success' });
});

test('the worst of two candidates counts', () => {
  const [success, pending, failure] = (['success', 'pending', 'failure'] as const).map((state) => ({
    state,
    description: state,
  })) as [never, never, never];
  expect(worseProgress(success, pending)).toBe(pending);
  expect(worseProgress(failure, pending)).toBe(failure);
  expect(worseProgress(success, failure)).toBe(failure);
});
