import { expect, test } from 'vitest';
import { nextVisit } from '../../../../../scheduler/hub/questions/state/next-visit.ts';

const NOW = new Date('2026-11-23T12:00:00Z');
const agent = { heardAt: '2026-11-20T12:00:00Z', enrolledAt: '2026-01-01T00:00:00Z', online: false };
const TEN_DAYS = { visitsSeconds: 10 * 86_400 };

test('nextVisit expects a medium one interval after the last report arrived', () => {
  expect(nextVisit(agent, TEN_DAYS, NOW)).toEqual({ expectedBy: '2026-11-30T12:00:00Z', isOverdue: false });
});

test('nextVisit marks a medium overdue after that, counted from the enrolment for an agent that never reported', () => {
  expect(nextVisit({ ...agent, heardAt: null }, TEN_DAYS, NOW)).toEqual({
    expectedBy: '2026-01-11T00:00:00Z',
    isOverdue: true,
  });
});

test('nextVisit expects no medium for an agent on the network, or without an interval', () => {
  expect(nextVisit({ ...agent, online: true }, TEN_DAYS, NOW)).toBeUndefined();
  expect(nextVisit(agent, {}, NOW)).toBeUndefined();
  expect(nextVisit(agent, undefined, NOW)).toBeUndefined();
});
