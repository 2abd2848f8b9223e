import { describe, expect, test } from 'vitest';
import {
  describeTasks,
  driftedTasks,
  readPlaybookReport,
  taskKey,
  whyPlaybookFailed,
} from '../../../../../agent/apply/host/runner/playbook-report.ts';

const at = { task: 'clock', file: '/steps/1/playbook/site.yml', line: 4 };
const changed = { type: 'changed', host: 'localhost', ...at };
const failure = {
  type: 'failed',
  host: 'localhost',
  message: 'no clock\nmore',
  hidden: false,
  ignored: false,
  handler: false,
  ...at,
};
const stats = { type: 'stats', failures: 0, unreachable: 0, rescued: 0 };
const report = (...lines: readonly object[]) =>
  readPlaybookReport(lines.map((line) => JSON.stringify(line)).join('\n'), '/steps/1/playbook');

describe('the report of a playbook run', () => {
  test('lists changed tasks with file and line relative to the playbook folder', () => {
    expect(report({ type: 'task', ...at }, changed, stats)).toEqual({
      changed: [{ task: 'clock', file: 'site.yml', line: 4, host: 'localhost' }],
      last: { task: 'clock', file: 'site.yml', line: 4 },
      ended: true,
    });
  });

  test('of a killed run has the last task that began, and leaves out a line that is cut short', () => {
    const text = `${JSON.stringify({ type: 'task', ...at })}\n{"type":"chan`;
    expect(readPlaybookReport(text, '/steps/1/playbook')).toEqual({
      changed: [],
      last: { task: 'clock', file: 'site.yml', line: 4 },
      ended: false,
    });
  });

  test('contains no failure that the playbook ignores or rescues', () => {
    expect(report({ ...failure, ignored: true }, stats).failed).toBeUndefined();
    expect(report(failure, stats).failed).toBeUndefined();
  });
});

test('whyPlaybookFailed names task, place, host and the first line of the message', () => {
  expect(whyPlaybookFailed(report(failure, { ...stats, failures: 1 }), '')).toBe(
    'task "clock" (site.yml:4) failed on localhost: no clock',
  );
  expect(whyPlaybookFailed(report({ ...failure, message: '', hidden: true }), '')).toBe(
    'task "clock" (site.yml:4) failed on localhost: its message is withheld because of no_log or a vault',
  );
});

test('whyPlaybookFailed names the error of ansible-playbook when the run failed before its first task', () => {
  expect(whyPlaybookFailed(report(), "[WARNING]: x\nERROR! the role 'clock' was not found\n")).toBe(
    "ansible-playbook ended before its first task: ERROR! the role 'clock' was not found",
  );
});

test('driftedTasks leaves out the tasks that change something on every run', () => {
  const other = { ...changed, task: 'other', line: 9 };
  const read = report(changed, other, stats);
  expect(driftedTasks(read, ['site.yml:4 clock']).map(taskKey)).toEqual(['site.yml:9 other']);
  expect(driftedTasks(read, [])).toHaveLength(2);
});

test('many tasks are named by the first three and a number', () => {
  const { changed: tasks } = report(changed, changed, changed, changed, stats);
  expect(describeTasks(tasks)).toMatch(/^(task "clock" \(site\.yml:4\)(, )?){3} and 1 more$/);
});
