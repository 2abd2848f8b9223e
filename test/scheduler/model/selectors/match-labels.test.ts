import { expect, test } from 'vitest';
import { matchLabels } from '../../../../scheduler/model/selectors/match-labels.ts';

const labels = { region: 'eu', tier: 'edge' };

test.for([
  [{}, true],
  [{ region: 'eu' }, true],
  [{ region: 'eu', tier: 'edge' }, true],
  [{ region: 'us' }, false],
  [{ absent: '' }, false],
  [{ constructor: 'x' }, false],
] as const)('matchLabels %j is %s', ([wanted, expected]) => {
  expect(matchLabels({ matchLabels: wanted, matchExpressions: [] }, labels)).toBe(expected);
});

test.for([
  ['region', 'In', ['us', 'eu'], true],
  ['region', 'In', ['us'], false],
  ['absent', 'In', ['us'], false],
  ['region', 'NotIn', ['us'], true],
  ['region', 'NotIn', ['eu'], false],
  ['absent', 'NotIn', ['eu'], true],
  ['region', 'Exists', [], true],
  ['absent', 'Exists', [], false],
  ['toString', 'Exists', [], false],
  ['region', 'DoesNotExist', [], false],
  ['absent', 'DoesNotExist', [], true],
] as const)('%s %s %j is %s', ([key, operator, values, expected]) => {
  const matchExpressions = [{ key, operator, values }];
  expect(matchLabels({ matchLabels: {}, matchExpressions }, labels)).toBe(expected);
});

test('matchLabels and matchExpressions must both match', () => {
  const selector = {
    matchLabels: { region: 'eu' },
    matchExpressions: [{ key: 'tier', operator: 'NotIn' as const, values: ['edge'] }],
  };
  expect(matchLabels(selector, labels)).toBe(false);
});
