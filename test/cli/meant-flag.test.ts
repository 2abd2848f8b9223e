import { expect, test } from 'vitest';
import { meantFlag } from '../../cli/meant-flag.ts';

const FLAGS = { channel: {}, environment: {}, site: {}, workload: {}, json: {} };

test.each([
  ['plant-1', 'Did you mean --environment plant-1, --site plant-1 or --workload plant-1? '],
  ['prod/kiosk', 'Did you mean --channel prod/kiosk? '],
  ['password=hunter2', ''],
  ['a/b/c', ''],
  ['', ''],
])('of the argument %j, its flags are named: %j', (word, hint) => {
  expect(meantFlag(word, FLAGS)).toBe(hint);
});

test('a verb without such a flag names none', () => {
  expect(meantFlag('plant-1', { json: {}, channel: {} })).toBe('');
});
