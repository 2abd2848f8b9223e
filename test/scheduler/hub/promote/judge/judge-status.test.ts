import { expect, test } from 'vitest';
import type { Decisions } from '../../../../../scheduler/hub/promote/facts/decisions.ts';
import { judgeProgress, worseProgress } from '../../../../../scheduler/hub/promote/judge/judge-status.ts';
import { agent, agents, facts, NOW } from '../gate/gate-cases.ts';

const UNDECIDED: Decisions = { approvals: [], rejected: undefined, paused: undefined, promoted: undefined };

const judged = (found = facts(), decisions: Partial<Decisions> = {}) =>
  judgeProgress(undefined, found, { decisions: { ...UNDECIDED, ...decisions }, now: NOW });

const failed = agent('s9/a', { state: { kind: 'failed', why: 'the secret of site s9' } });

test('a commit status is pending until every agent complies, then success', () => {
  const silent = agent('s8/a', { knownAt: null });
  expect(judged(facts({ agents: [...agents(3), silent] }))).toMatchObject({ state: 'pending' });
  expect(judged(facts({ agents: [] }))).toMatchObject({ state: 'pending' });
  expect(judged()).toEqual({ state: 'success', description: 'qa complies' });
});

test('a commit status is failure for failing agents and for a rejection, without names and messages of sites', () => {
  const found = judged(facts({ agents: [...agents(3), failed] }));
  expect(found).toEqual({ state: 'failure', description: 'qa: agents report failures: 1' });
  expect(judged(facts(), { rejected: 'rejected by ada: it leaks' })).toEqual({
    state: 'failure',
    description: 'qa: rejected by ada: it leaks',
  });
});

test('a commit status does not change after another candidate was promoted', () => {
  expect(judged(facts(), { promoted: 'before' })).toBeUndefined();
  expect(judged(facts(), { promoted: 'now' })).toMatchObject({ state: 'success' });
});

test('a commit status of two candidates is the worse one', () => {
  const [success, pending, failure] = (['success', 'pending', 'failure'] as const).map((state) => ({
    state,
    description: state,
  })) as [never, never, never];
  expect(worseProgress(success, pending)).toBe(pending);
  expect(worseProgress(failure, pending)).toBe(failure);
  expect(worseProgress(success, failure)).toBe(failure);
});
