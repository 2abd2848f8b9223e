import { expect, test } from 'vitest';
import { matchSelector } from '../../../../scheduler/plan/compose/match-selector.ts';
import { clusterType, target } from '../../model-objects.ts';

const edge = clusterType('edge', { labels: { region: 'eu', tier: 'far' } });
const web = target('shop/web', { labels: { purpose: 'web', workload: 'shop', workspace: 'team' } });

test.for([
  [{}, true],
  [{ region: 'eu' }, true],
  [{ region: 'us' }, false],
  [{ purpose: 'web' }, true],
  [{ region: 'eu', purpose: 'web' }, true],
  [{ region: 'eu', purpose: 'api' }, false],
  [{ 'cluster-type': 'edge' }, true],
  [{ 'cluster-type': 'far' }, false],
  [{ 'deployment-target': 'shop-web' }, true],
  [{ 'deployment-target': 'web' }, false],
  [{ workload: 'shop' }, true],
  [{ workspace: 'team' }, true],
  [{ environment: 'dev' }, false],
  [{ absent: '' }, true],
  [{ region: '' }, true],
  [{ constructor: '' }, true],
  [{ toString: 'x' }, false],
] as const)('%j is %s', ([selector, expected]) => {
  expect(matchSelector(selector as Record<string, string>, edge, web)).toBe(expected);
});

test('a label named like a built-in one does not replace it', () => {
  const posing = clusterType('edge', { labels: { workload: 'shop', 'deployment-target': 'shop-web' } });
  const other = target('other/x', { labels: { 'cluster-type': 'edge2' } });
  expect(matchSelector({ workload: 'shop' }, posing, other)).toBe(false);
  expect(matchSelector({ 'deployment-target': 'shop-web' }, posing, other)).toBe(false);
  expect(matchSelector({ 'cluster-type': 'edge2' }, posing, other)).toBe(false);
});
