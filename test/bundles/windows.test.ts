import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseWindows } from '../../bundles/windows.ts';

/** Of the machine's own time zone, as windows are. */
const at = (day: number, hour: number, minute = 0): Date => new Date(2026, 10, day, hour, minute);

describe('maintenance windows', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('are always open when no window is configured', () => {
    const none = parseWindows([]);
    expect(none.isOpen(at(21, 12))).toBe(true);
    expect(none.opensAfter(at(21, 12))).toBeUndefined();
  });

  it('open by their cron expression and stay open for their duration, past midnight too', () => {
    // 20 November 2026 is a Friday.
    const nights = parseWindows(['0 22 * * 1-5 for 6h']);
    expect(nights.isOpen(at(20, 21, 59))).toBe(false);
    expect(nights.isOpen(at(20, 22))).toBe(true);
    expect(nights.isOpen(at(21, 3, 59))).toBe(true);
    expect(nights.isOpen(at(21, 4))).toBe(false);
    expect(nights.isOpen(at(21, 23))).toBe(false);
    expect(nights.opensAfter(at(20, 22))).toEqual(at(23, 22));
    expect(nights.opensAfter(at(20, 21))).toEqual(at(20, 22));
  });

  it('are open when any of them is open', () => {
    const two = parseWindows(['0 2 * * * for 30m', '*/20 12 * * * for 5m']);
    expect([at(21, 2, 29), at(21, 12, 21), at(21, 12, 6)].map(two.isOpen)).toEqual([true, true, false]);
    expect(two.opensAfter(at(21, 12, 1))).toEqual(at(21, 12, 20));
  });

  it('that last longer than their interval are always open; a window on 29 February is found years ahead', () => {
    expect(parseWindows(['0 0 * * 0 for 200h']).isOpen(at(21, 12))).toBe(true);
    const leap = parseWindows(['0 3 29 2 * for 1h']);
    expect(leap.opensAfter(at(21, 12))).toEqual(new Date(2028, 1, 29, 3));
    expect(leap.isOpen(new Date(2028, 1, 29, 3, 30))).toBe(true);
  });

  it('open an hour later on a day whose clock skips their time, on that weekday and as the last of its month too', () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    for (const days of ['* * *', '* * 0', '* * 0L', '28 3 *']) {
      const night = parseWindows([`30 2 ${days} for 1h`]);
      expect(night.opensAfter(new Date('2027-03-28T00:00:00Z'))).toEqual(new Date('2027-03-28T01:30:00Z'));
      expect(night.isOpen(new Date('2027-03-28T01:29:00Z'))).toBe(false);
      expect(night.isOpen(new Date('2027-03-28T02:29:00Z'))).toBe(true);
      expect(night.isOpen(new Date('2027-03-28T02:30:00Z'))).toBe(false);
    }
    // The hour that the clock repeats opens a window once.
    expect(parseWindows(['30 2 * * * for 10m']).opensAfter(new Date('2027-10-31T00:30:00Z'))).toEqual(
      new Date('2027-11-01T01:30:00Z'),
    );
  });

  it('with an invalid cron expression or an impossible day are refused, and the error quotes the expression', () => {
    expect(() => parseWindows(['99 * * * * for 1h'])).toThrow(/99 \* \* \* \* for 1h.*minute/);
    expect(() => parseWindows(['0 3 30 2 * for 1h'])).toThrow(/impossible day/);
  });
});
