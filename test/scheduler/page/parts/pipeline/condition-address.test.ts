import { expect, test } from 'vitest';
import { conditionAddress } from '../../../../../scheduler/page/parts/pipeline/condition-address.ts';

test.each([
  ['at least', '/sites?environment=qa'],
  ['required region=north', '/sites?environment=qa'],
  ['failures', '/sites?environment=qa&verdict=failed'],
  ['drift', '/sites?environment=qa&verdict=drifted'],
  ['approvals', '/audit?environment=prod&kind=approval'],
  ['released', '/workloads?environment=qa'],
  ['check load-test', '/platform'],
])('the condition %s leads to %s', (name, address) => {
  expect(conditionAddress(name, { from: 'qa', to: 'prod' })).toBe(address);
});
