import { expect, test } from 'vitest';
import type { CommandResult } from '../../../../../agent/apply/host/host-options.ts';
import { hostMachine } from '../../../../../agent/apply/host/reboot/host-machine.ts';

const { signal } = new AbortController();
const BUSY = 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)\n';

const atWork = (answers: Readonly<Record<string, Partial<CommandResult>>>) =>
  hostMachine({
    root: '/',
    services: 'systemd',
    run: async ([program = '']) => ({ code: 0, stdout: '', stderr: '', ...answers[program] }),
  })?.atWork(signal);

test.each([
  [
    { systemctl: { stdout: '7 chrony.service start running\n' } },
    'other work: systemd starts or stops units',
  ],
  [
    { 'apt-get': { code: 100, stderr: BUSY } },
    `other work: the Debian packages of this host are being changed, or not in order: ${BUSY.trim()}`,
  ],
])('the obstacle of a reboot completes "waits for": %j', async (answers, expected) => {
  expect(await atWork(answers)).toBe(expected);
});

test('a host where apt and systemd do nothing is not at work', async () => {
  expect(await atWork({})).toBeUndefined();
});
