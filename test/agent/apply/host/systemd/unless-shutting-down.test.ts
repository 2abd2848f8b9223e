import { expect, test } from 'vitest';
import type { HostTargetOptions } from '../../../../../agent/apply/host/host-options.ts';
import { unlessShuttingDown } from '../../../../../agent/apply/host/systemd/unless-shutting-down.ts';
import { FleetError } from '../../../../../bundles/errors.ts';

/** A host whose systemd answers `is-system-running` with this. */
const host = (answer: string, more: Partial<HostTargetOptions> = {}): HostTargetOptions => ({
  state: '/nowhere',
  root: '/',
  services: 'systemd',
  backups: '/nowhere',
  maxBackupBytes: 0,
  pinnedBackups: () => new Set(),
  isRoot: true,
  run: async () => ({ code: answer === 'running' ? 0 : 1, stdout: `${answer}\n`, stderr: '' }),
  ...more,
});
const failing = async (): Promise<never> => {
  throw new FleetError('UNIT_FAILED', 'systemctl start ended with 1');
};

test('unlessShuttingDown turns a failure into ABORTED while the host stops', async () => {
  await expect(unlessShuttingDown(host('stopping'), failing)).rejects.toMatchObject({ code: 'ABORTED' });
});

test.each(['offline', 'unknown', ''])(
  'unlessShuttingDown turns a failure into a retryable IO error while systemd answers "%s"',
  async (answer) => {
    await expect(unlessShuttingDown(host(answer), failing)).rejects.toMatchObject({
      code: 'IO',
      retryable: true,
    });
  },
);

test.each(['running', 'degraded', 'starting'])(
  'unlessShuttingDown passes on a failure while systemd answers "%s"',
  async (answer) => {
    await expect(unlessShuttingDown(host(answer), failing)).rejects.toMatchObject({ code: 'UNIT_FAILED' });
  },
);

test('unlessShuttingDown turns failed checks into ABORTED while the host stops', async () => {
  const checks = async () => [{ outcome: 'failed' }];
  const bad = (all: readonly { readonly outcome: string }[]) =>
    all.some(({ outcome }) => outcome === 'failed');
  await expect(unlessShuttingDown(host('stopping'), checks, bad)).rejects.toMatchObject({ code: 'ABORTED' });
  await expect(unlessShuttingDown(host('running'), checks, bad)).resolves.toHaveLength(1);
});

test('unlessShuttingDown does not ask systemd on a host without an init', async () => {
  const run = () => Promise.reject(new Error('nobody may be asked'));
  const options = host('', { services: 'none', run });
  await expect(unlessShuttingDown(options, failing)).rejects.toMatchObject({ code: 'UNIT_FAILED' });
});
