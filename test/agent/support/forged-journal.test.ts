import { expect, it } from 'vitest';
import { parseEntry } from '../../../agent/apply/host/systemd/read-journal.ts';
import { formatEntry } from '../../../agent/support/collect-host.ts';

/** An entry as journalctl prints it: fields that begin with _ are journald's own. */
const entry = (fields: object): string => {
  const parsed = parseEntry(
    JSON.stringify({ __REALTIME_TIMESTAMP: '1763712000000000', _PID: '812', ...fields }),
  );
  return parsed ? formatEntry(parsed) : '';
};
const OWN = { _SYSTEMD_UNIT: 'press.service', _COMM: 'press' };

it.each([
  [
    'systemd',
    { SYSLOG_IDENTIFIER: 'systemd', MESSAGE: 'Started press.' },
    'press.service[812]: Started press.',
  ],
  ['the kernel', { SYSLOG_IDENTIFIER: 'kernel', MESSAGE: 'x' }, 'press.service[812]: x'],
  ['the agent', { SYSLOG_IDENTIFIER: 'fleet-agent', MESSAGE: 'x' }, 'press.service[812]: x'],
  ['systemd as its process', { _COMM: 'systemd', MESSAGE: 'x' }, 'press.service[812]: x'],
  [
    'a whole entry',
    { SYSLOG_IDENTIFIER: 'systemd[1]: all well\nx', MESSAGE: 'x' },
    'systemd_1_:_all_well_x[812]: x',
  ],
  ['further lines', { MESSAGE: 'a\nb\r\nc\u2028d' }, 'press[812]: a\n    b\n    c\n    d'],
  ['further lines in bytes', { MESSAGE: [...Buffer.from('a\nb')] }, 'press[812]: a\n    b'],
])('B6: a program that prints under the name of %s -> ACCEPT', (_, fields, shown) => {
  const said = entry({ ...OWN, ...fields });
  expect(said === `2025-11-21T08:00:00.000Z ${shown}\n` ? 'ACCEPT' : said).toBe('ACCEPT');
});

it('a journal entry of systemd, the kernel or the agent is shown under its name', () => {
  expect(
    entry({ _PID: '1', SYSLOG_IDENTIFIER: 'systemd', _SYSTEMD_UNIT: 'init.scope', MESSAGE: 'x' }),
  ).toContain(' systemd[1]: x');
  expect(entry({ _PID: undefined, SYSLOG_IDENTIFIER: 'kernel', MESSAGE: 'x' })).toContain(' kernel: x');
  expect(
    entry({ SYSLOG_IDENTIFIER: 'fleet-agent', _SYSTEMD_UNIT: 'fleet-agent.service', MESSAGE: 'x' }),
  ).toContain(' fleet-agent[812]: x');
});
