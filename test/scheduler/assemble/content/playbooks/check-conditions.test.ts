import { expect, test } from 'vitest';
import { checkConditions } from '../../../../../scheduler/assemble/content/playbooks/check-conditions.ts';

const TEXTS = new Set(['line', 'platform_config.ZONE']);

const judge = (condition: string, texts: ReadonlySet<string> = TEXTS) => {
  const text = `- hosts: localhost\n  tasks:\n    - {name: a, debug: {msg: x}}\n    - block:\n        - command: a\n          ${condition}\n`;
  return () => checkConditions([{ file: 'apps/clock/ansible/site.yml', text }], texts);
};

// ansible-core 2.14.18, 2.19.14 and 2.21.5 were asked, with 'yes', 'no' and '', what each form of `when` does.
test.each([
  ['when: line', 17],
  ['when: [press, line]', 25],
  ['when: press and line', 17],
  ['when: line or press == 1', 17],
  ['until: platform_config.ZONE', 18],
  ['assert: {that: [line]}', 27],
])('the condition %s on a text variable is refused with its position', (condition, column) => {
  expect(judge(condition)).toThrow(
    expect.objectContaining({
      code: 'FIELD_INVALID',
      at: { file: 'apps/clock/ansible/site.yml', line: 6, column },
    }),
  );
});

test.each([
  'when: line | bool',
  'when: not line',
  "when: line == 'yes'",
  'when: line | length > 0',
  'when: lines',
  "when: note == 'press and line'",
  'when: true',
  'name: line',
  'when: !vault x',
])('the condition %s is accepted', (condition) => {
  expect(judge(condition)).not.toThrow();
});

test('conditions on other variables, and files that are not YAML, are not checked', () => {
  expect(judge('when: line', new Set())).not.toThrow();
  expect(judge('when: line\n  - [')).not.toThrow();
});
