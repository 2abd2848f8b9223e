import { expect, test } from 'vitest';
import { unfinishedFrom } from '../../../../../agent/apply/host/runner/progress.ts';

const lines = (...all: readonly object[]) => all.map((line) => `${JSON.stringify(line)}\n`).join('');
const host = 'localhost';
const task = (name: string, ...notify: readonly string[]) => ({ type: 'task', task: name, notify });
const notified = (topic: string) => ({ type: 'notified', host, topic });
const done = (name: string, handler = false, ran = false) => ({
  type: 'done',
  handler,
  host,
  task: name,
  ran,
});

const RUN = [
  task('configure', 'restart', 'tell'),
  notified('restart'),
  notified('tell'),
  { type: 'registered', name: 'configured' },
  done('configure'),
  task('restart'),
  done('restart', true),
  task('more', 'restart'),
  notified('restart'),
  done('more', false, true),
];

test('unfinishedFrom returns the notified handlers that did not run since, in the order of their notification', () => {
  expect(unfinishedFrom(lines(...RUN, { type: 'stats' }))).toEqual({
    notified: [
      { host, topic: 'tell', done: ['restart'] },
      { host, topic: 'restart', done: [] },
    ],
    registers: ['configured'],
    ran: ['more'],
  });
});

test('notifies the handlers of an interrupted task, because it may have changed something', () => {
  expect(unfinishedFrom(lines(task('configure', 'restart')))).toEqual({
    notified: [{ host, topic: 'restart', done: [] }],
    registers: [],
    ran: [],
    cutOff: 'configure',
  });
});

test('unfinishedFrom keeps every handler notified in a complete line when the file is cut off at any byte', () => {
  const text = lines(...RUN);
  for (let end = 0; end <= text.length; end += 1) {
    const cut = text.slice(0, end);
    const whole = cut.split('\n').filter((line) => line.includes('"notified"') && line.endsWith('}'));
    expect(unfinishedFrom(cut).notified.length).toBeGreaterThanOrEqual(Math.min(whole.length, 2));
  }
});
