import { expect, test } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import { describeRollout } from '../../../../../scheduler/hub/promote/rollout/describe-rollout.ts';
import type { StageVerdict } from '../../../../../scheduler/hub/promote/rollout/judge-rollout.ts';

const stage = (name: string, over: Partial<StageVerdict> = {}): StageVerdict => ({
  name,
  state: 'soaking',
  startedAt: '2026-11-23T08:00:00Z',
  agents: 0,
  complies: 0,
  failed: 0,
  excluded: 0,
  approvals: { found: 0, needed: 0 },
  holding: [],
  waiting: 0,
  ...over,
});

const next = { kind: 'advance', stage: 'all' } as const;

test('reports stages without agents instead of counts', () => {
  const stages = [stage('pilot'), stage('all', { state: 'waiting' })];
  expect(shown([describeRollout({ stages, next })])).toEqual([
    '  no agents: no enrolled agent is in its stages',
    '  next: all begins',
  ]);
});

test('describes a stage without agents as such, and counts and names what one with agents waits for', () => {
  const running = stage('all', {
    state: 'running',
    agents: 2,
    complies: 1,
    waiting: 1,
    holding: ['plant-7/oven-1: behind'],
  });
  const stages = [stage('pilot', { state: 'done' }), running];
  expect(shown([describeRollout({ stages, next })])).toEqual([
    '  pilot  done     no agents, since 2026-11-23T08:00:00Z',
    '  all    running  1 of 2 comply, 0 failed, 0 excluded, since 2026-11-23T08:00:00Z',
    '    waits for plant-7/oven-1: behind',
    '  next: all begins',
  ]);
});
