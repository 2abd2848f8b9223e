import { describe, expect, it } from 'vitest';
import { parseWhen } from '../../../scheduler/settings/parse-when.ts';

const NOW = new Date('2026-11-28T12:00:00Z');

describe('parseWhen', () => {
  it.each([
    ['a time', '2026-11-21T08:00:00Z', 'since', '2026-11-21T08:00:00Z'],
    ['how long ago', '90m', 'until', '2026-11-28T10:30:00Z'],
    ['weeks ago', '2w', 'at', '2026-11-14T12:00:00Z'],
    ['a day begins', '2026-11-21', 'since', '2026-11-21T00:00:00Z'],
    ['a day ends', '2026-11-21', 'until', '2026-11-21T23:59:59Z'],
    ['the state of a day is that at its end', '2026-11-21', 'at', '2026-11-21T23:59:59Z'],
    ['today lasts until now', '2026-11-28', 'at', '2026-11-28T12:00:00Z'],
  ])('%s: %s for %s', (_, text, what, expected) => {
    expect(parseWhen(text, what, NOW)).toBe(expected);
  });

  it.each(['', '2026-02-30', '2026-11-21T08:00', '0d', '-3h', 'yesterday', '7'])('refuses %j', (text) => {
    expect(() => parseWhen(text, 'since', NOW)).toThrow(`since ${JSON.stringify(text)} is not a time`);
  });
});
