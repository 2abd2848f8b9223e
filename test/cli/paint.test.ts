import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { paint } from '../../cli/paint.ts';

/** A stream that says that it is a terminal with 16 colours. */
const terminal = Object.assign(new Writable(), {
  isTTY: true,
  hasColors: () => true,
  getColorDepth: () => 4,
});

test.each([
  ['! late  order-api-host', '\u001b[31m! late  order-api-host\u001b[39m'],
  ['NOTE: two keys', '\u001b[33mNOTE: two keys\u001b[39m'],
  ['  STATE  ASSIGNMENT', '\u001b[1m  STATE  ASSIGNMENT\u001b[22m'],
])('paint colours %j on a terminal', (line, painted) => {
  expect(paint(line, terminal)).toBe(painted);
});

test.each(['hello-host  created', 'OK', 'wait! order-api'])('paint leaves %j unchanged', (line) => {
  expect(paint(line, terminal)).toBe(line);
});

test('paint returns the text unchanged for a stream that is not a terminal', () => {
  expect(paint('! late\nNOTE: x', new Writable())).toBe('! late\nNOTE: x');
});
