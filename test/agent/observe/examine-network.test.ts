import { expect, it } from 'vitest';
import { judgeCertificate } from '../../../agent/observe/examine-network.ts';

const own = { from: new Date('2026-11-01T00:00:00Z'), to: new Date('2027-01-30T00:00:00Z') };

it.each([
  ['2026-11-21T00:00:00Z', 'good', 'ends in 70 days, on 2027-01-30T00:00:00Z'],
  ['2027-01-10T00:00:00Z', 'warning', 'ends in 20 days, on 2027-01-30T00:00:00Z: its renewal is due'],
  [
    '2027-02-01T00:00:00Z',
    'bad',
    'ended on 2027-01-30T00:00:00Z; the service asks for the next one when the hub answers',
  ],
  [
    '2020-01-01T00:00:00Z',
    'bad',
    'is valid from 2026-11-01T00:00:00Z on, and the clock of this machine says 2020-01-01T00:00:00Z: set the clock',
  ],
])('doctor judges the certificate for the hub at %s as %s', (now, verdict, message) => {
  expect(judgeCertificate(own, new Date(now))).toEqual({ verdict, message });
});
