import { expect, test } from 'vitest';
import { labelsOfFacts } from '../../../../../scheduler/hub/sites/enroll/fact-labels.ts';

test.each([
  [{ label: 'arch', fact: 'architecture' }, { architecture: 'amd64' }, { arch: 'amd64' }],
  [{ label: 'line', fact: 'serial', pattern: 'PX-(L[0-9]+)-.*' }, { serial: 'PX-L7-0042' }, { line: 'L7' }],
  [{ label: 'debian', fact: 'osVersion', pattern: '1[0-9]' }, { osVersion: '12' }, { debian: '12' }],
  [{ label: 'line', fact: 'serial', pattern: 'PX-(L[0-9]+)-.*' }, { serial: 'other' }, {}],
  [{ label: 'arch', fact: 'architecture' }, {}, {}],
  [{ label: 'x', fact: 'constructor' }, {}, {}],
  [
    { label: 'model', fact: 'model' },
    { model: ' Box <script>\n$(reboot) 3/4' },
    { model: 'Box-script-reboot-3-4' },
  ],
  [{ label: 'model', fact: 'model' }, { model: 'x'.repeat(128) }, { model: 'x'.repeat(63) }],
  [{ label: 'model', fact: 'model' }, { model: '***' }, {}],
])('labelsOfFacts by the rule %j turns %j into %j', (rule, facts, labels) => {
  expect(labelsOfFacts([rule], facts)).toEqual(labels);
});

test('labelsOfFacts refuses a pattern that is not a regular expression', () => {
  expect(() => labelsOfFacts([{ label: 'x', fact: 'serial', pattern: '(' }], { serial: 'a' })).toThrow(
    'factLabels: "(" is not a regular expression',
  );
});
