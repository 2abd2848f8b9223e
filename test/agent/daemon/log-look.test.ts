import { expect, it } from 'vitest';
import { createLookLog } from '../../../agent/daemon/log-look.ts';

it('the log has one line when a machine becomes stale, when the reason changes, and when it ends', () => {
  const lines: string[] = [];
  const add = (_: object, message: string): void => void lines.push(message);
  const look = createLookLog({ info: add, warn: add, error: add });
  const stale = (why: string) => ({
    since: '2027-05-20T08:00:00Z',
    causes: [{ what: 'release', code: 'EXPIRED', since: '2027-05-20T08:00:00Z', why, todo: 'ask' } as const],
  });
  const seen = { packages: [], drift: [] };
  look(seen);
  for (const why of ['it ended', 'it ended', 'the order ended too']) look({ ...seen, stale: stale(why) });
  for (const _ of [1, 2]) look(seen);
  expect(lines.filter((line) => line !== 'looked')).toEqual(['stale', 'stale', 'no longer stale']);
});
