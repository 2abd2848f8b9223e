import { describe, expect, it } from 'vitest';
import { describedTimes } from '../../../../../scheduler/hub/ingest/reports/described-times.ts';

const WRITTEN = '2026-11-21T08:00:00Z';
const clock = (time: string) => `2026-11-20T${time}Z`;

describe('the time of the state that a report describes', () => {
  it('is the time of the report, when the agent states no look', () => {
    expect(describedTimes({ time: WRITTEN }, WRITTEN)).toEqual({
      said_at: WRITTEN,
      looks: null,
      service: null,
    });
  });

  it("is computed from the agent's clock differences, independent of its absolute time", () => {
    const said = { time: clock('10:00:00'), lookedAt: clock('09:30:00') };
    expect(describedTimes(said, WRITTEN).said_at).toBe('2026-11-21T07:30:00Z');
  });

  it('is the time of the package with the oldest comparison', () => {
    const looks = { service: 'stopped', packages: { db: clock('08:00:00') } } as const;
    expect(describedTimes({ time: clock('10:00:00'), lookedAt: clock('10:00:00'), looks }, WRITTEN)).toEqual({
      said_at: '2026-11-21T06:00:00Z',
      looks: `{"at":"${WRITTEN}","packages":{"db":"2026-11-21T06:00:00Z"}}`,
      service: 'stopped',
    });
  });

  it('is unknown until every package was compared', () => {
    const said = { time: WRITTEN, lookedAt: WRITTEN, looks: { packages: { db: null } } };
    expect(describedTimes(said, WRITTEN)).toEqual({
      looks: `{"at":"${WRITTEN}","packages":{"db":null}}`,
      service: null,
    });
  });

  it('is unknown when the clock was set back after the look, until the agent looks again', () => {
    const back = { time: clock('10:00:00'), lookedAt: clock('11:00:00') };
    expect(describedTimes(back, WRITTEN)).toEqual({ looks: null, service: null });
    const looks = { packages: { db: clock('09:00:00') } };
    expect(describedTimes({ ...back, looks }, WRITTEN)).toEqual({
      looks: '{"at":null,"packages":{"db":"2026-11-21T07:00:00Z"}}',
      service: null,
    });
    expect(describedTimes({ time: clock('10:05:00'), lookedAt: clock('10:04:00') }, WRITTEN).said_at).toBe(
      '2026-11-21T07:59:00Z',
    );
  });

  it('is at the latest the time of the report, for a clock that a time server corrected after the look', () => {
    expect(describedTimes({ time: clock('10:00:00'), lookedAt: clock('10:00:40') }, WRITTEN).said_at).toBe(
      WRITTEN,
    );
  });
});
