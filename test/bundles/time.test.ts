import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDays, formatTime, parseTime } from '#bundles/time';
import { refusal } from './refusal.ts';

describe('parseTime', () => {
  it('reads what formatTime writes, to the second', () => {
    const range = { min: new Date('1970-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z') };
    fc.assert(
      fc.property(fc.date({ ...range, noInvalidDate: true }), (date) => {
        const whole = Math.floor(date.getTime() / 1000) * 1000;
        expect(parseTime(formatTime(date)).getTime()).toBe(whole);
      }),
    );
  });

  it('accepts 29 February of a leap year', () => {
    expect(parseTime('2028-02-29T00:00:00Z')).toEqual(addDays(new Date('2028-02-28T00:00:00Z'), 1));
  });

  it.each([
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T23:59:60Z',
    '2026-11-21T08:00:00',
    '2026-11-21T08:00:00+00:00',
    '2026-11-21T08:00:00.000Z',
    '2026-11-21t08:00:00z',
    '2026-11-21 08:00:00Z',
    '2026-11-21T08:00:00Z\n',
    '+02026-11-21T08:00:00Z',
    '２０２６-11-21T08:00:00Z',
    '',
    null,
    undefined,
    1_795_248_000,
  ])('refuses %j', (text) => {
    expect(refusal(() => parseTime(text))).toBe('SCHEMA');
  });
});
