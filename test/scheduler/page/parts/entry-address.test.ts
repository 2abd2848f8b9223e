import { expect, test } from 'vitest';
import { entryAddress } from '../../../../scheduler/page/parts/entry-address.ts';

const decision = (what: string, only: string | null = null, stage: string | null = null) =>
  ({ kind: 'decision', what, environment: 'prod', stage, only, about: null }) as const;
const change = (what: string, about: string) =>
  ({ kind: 'change', what, environment: null, stage: null, only: null, about }) as const;

test.each([
  [decision('pause'), '/pipeline'],
  [decision('start-rollout', 'prod/till', 'pilot'), '/rollouts'],
  [decision('roll-back', 'prod/press'), '/pipeline'],
  [decision('roll-back', 'oven-control-host'), '/where?name=oven-control-host'],
  [decision('roll-back', 'press/oven-control-host'), '/where?name=oven-control-host'],
  [{ ...decision('approval'), kind: 'approval' } as const, '/pipeline'],
  [{ ...change('approval', '01ffae0627bf'), kind: 'approval' } as const, '/values'],
  [change('sites enroll', 'plant-7/press-1'), '/sites/plant-7'],
  [change('sites set', 'plant-7'), '/values/plant-7'],
  [change('sites values propose', 'plant-7'), '/values/plant-7'],
  [change('secrets set', 'plant-7/wifi'), '/values/plant-7'],
  [change('alarms silence', 'PACKAGE_FAILED till'), '/alarms'],
  [change('sessions end', 'mara@example.com'), '/sessions'],
  [change('tokens create', '59e6b0b740c3'), '/audit?what=tokens%20create'],
])('an entry of the audit log leads to the view of its subject: %o', (entry, address) => {
  expect(entryAddress(entry)).toBe(address);
});
