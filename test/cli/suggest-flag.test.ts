import { expect, test } from 'vitest';
import { suggestFlag } from '../../cli/suggest-flag.ts';

const FLAGS = { channel: {}, environment: {}, site: {}, workload: {}, json: {} };

test.each([
  ['plant-1', 'Did you mean --environment plant-1, --site plant-1 or --workload plant-1? '],
  ['prod/kiosk', 'Did you mean --channel prod/kiosk? '],
  ['password=hunter2', ''],
  ['a/b/c', ''],
  ['', ''],
])('suggestFlag suggests the flags for the argument %j: %j', (word, hint) => {
  expect(suggestFlag(word, FLAGS)).toBe(hint);
});

test('suggestFlag suggests nothing when the verb has no such flag', () => {
  expect(suggestFlag('plant-1', { json: {}, channel: {} })).toBe('');
});
