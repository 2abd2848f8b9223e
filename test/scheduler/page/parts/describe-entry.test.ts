import { expect, test } from 'vitest';
import { describeEntry } from '../../../../scheduler/page/parts/describe-entry.ts';

const none = { promotion: null, stage: null, only: null, workspaces: null, release: null, about: null };
const approval = { ...none, kind: 'approval', what: 'approval', environment: 'prod' };

test.each([
  [approval, 'approval of a promotion'],
  [{ ...approval, workspaces: ['bakery'] }, 'approval of a promotion for bakery'],
  [{ ...approval, stage: 'pilot' }, 'approval of stage pilot'],
  [{ ...approval, environment: null, about: '01ffae0627bf' }, 'approval of values 01ffae0627bf'],
  [{ ...none, kind: 'decision', what: 'pause', environment: 'prod' }, 'pause'],
])('an approval on the page is of values, of a stage or of a promotion: %o', (entry, text) => {
  expect(describeEntry(entry as unknown as Parameters<typeof describeEntry>[0])).toBe(text);
});
