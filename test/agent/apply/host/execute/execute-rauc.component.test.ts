import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { executeRaucBoot, executeRaucInstall } from '../../../../../agent/apply/host/execute/execute-rauc.ts';
import type { CommandResult, HostTargetOptions } from '../../../../../agent/apply/host/host-options.ts';
import { digestOf } from '../../../../../bundles/digest.ts';
import { openBlobDirectory } from '../../../../../bundles/formats/layout/blob-directory.ts';
import { never, packageOf, sandbox } from '../sandbox.ts';

const BUNDLE = Buffer.from('a bundle');
const DETAIL = { version: '2', digest: digestOf(BUNDLE), size: BUNDLE.byteLength };
const STEP = { key: 'rauc:system', kind: 'rauc', outcome: 'configured', reason: 'why', detail: {} } as const;
const BOOT = { version: '2' } as const;

/** The answers of RAUC, systemd and D-Bus of a host whose first slot has version 1, and runs unless `booted` says 1. */
const hostWith = async (given: {
  readonly second?: string;
  readonly booted?: 0 | 1;
  readonly primary?: 0 | 1;
  readonly busy?: number;
  readonly install?: CommandResult;
}) => {
  const asked: string[] = [];
  let { busy = 0 } = given;
  const ok = (stdout = ''): CommandResult => ({ code: 0, stdout, stderr: '' });
  const slots = ['1', given.second].map((version, index) => ({
    [`rootfs.${index}`]: {
      bootname: 'AB'[index],
      state: index === (given.booted ?? 0) ? 'booted' : 'inactive',
      slot_status: { bundle: version === undefined ? {} : { version } },
    },
  }));
  const run: HostTargetOptions['run'] = async (argv) => {
    const line = argv.filter((word) => !word.startsWith('--')).join(' ');
    if (line === 'rauc status')
      return ok(JSON.stringify({ boot_primary: `rootfs.${given.primary ?? 0}`, slots }));
    if (line.startsWith('busctl')) return ok(busy-- > 0 ? 's "installing"' : 's "idle"');
    asked.push(line);
    if (line.startsWith('rauc install')) return given.install ?? ok();
    return ok();
  };
  const host = await sandbox({ run });
  const { state } = host.options;
  await mkdir(join(state, 'blobs/sha256'), { recursive: true });
  await writeFile(openBlobDirectory(state, 'the store').path(DETAIL.digest), BUNDLE);
  const desired = { ...packageOf({}), blobs: openBlobDirectory(state, 'the store') };
  return {
    asked,
    marker: join(state, 'rauc-reboot'),
    install: () => executeRaucInstall(host.options, STEP, DETAIL, desired, never),
    boot: (detail: Parameters<typeof executeRaucBoot>[2] = BOOT) =>
      executeRaucBoot(host.options, STEP, detail, never),
    bundle: openBlobDirectory(state, 'the store').path(DETAIL.digest),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
};

test('RAUC installs the bundle from the store once its current installation has ended', async () => {
  await using host = await hostWith({ second: '2', primary: 1, busy: 1 });
  expect(await host.install()).toMatchObject({ outcome: 'configured' });
  expect(host.asked).toEqual([`rauc install ${host.bundle}`]);
});

test('nothing is installed on a host that has booted the new system already, as after a power cut', async () => {
  await using host = await hostWith({ second: '2', booted: 1, primary: 1 });
  expect(await host.install()).toMatchObject({ outcome: 'configured' });
  expect(host.asked).toEqual([]);
});

test('a damaged bundle of the store is not installed', async () => {
  await using host = await hostWith({});
  await writeFile(host.bundle, 'another!');
  await expect(host.install()).rejects.toThrow(expect.objectContaining({ code: 'DIGEST_MISMATCH' }));
  expect(host.asked).toEqual([]);
});

test('the failure names the reason for which RAUC refuses a bundle', async () => {
  const install = {
    code: 1,
    stdout: 'installing\nLastError: signature verification failed\n',
    stderr: 'Installing failed',
  };
  await using host = await hostWith({ install });
  await expect(host.install()).rejects.toThrow(
    'RAUC does not install the bundle of version 2: signature verification failed',
  );
});

test('a bundle whose manifest has another version than the package fails', async () => {
  await using host = await hostWith({ second: '3', primary: 1 });
  await expect(host.install()).rejects.toThrow('the boot loader would start rootfs.1 with version 3');
});

test('a system image on a host without RAUC fails', async () => {
  await using host = await hostWith({ install: { code: 127, stdout: '', stderr: '' }, second: '2' });
  await expect(host.install()).rejects.toThrow(expect.objectContaining({ code: 'TOOL_MISSING' }));
});

test('the current boot is stored before systemd is asked to reboot, and the step stays open', async () => {
  await using host = await hostWith({ second: '2', primary: 1 });
  await expect(host.boot()).rejects.toThrow(expect.objectContaining({ code: 'ABORTED' }));
  expect(host.asked).toEqual(['systemctl reboot']);
  expect(existsSync(host.marker)).toBe(true);
});

test('a host that runs the wanted system already is not rebooted', async () => {
  await using host = await hostWith({ second: '2', booted: 1, primary: 1 });
  await writeFile(host.marker, 'an earlier boot');
  expect(await host.boot()).toMatchObject({ outcome: 'configured' });
  expect(host.asked).toEqual([]);
  expect(existsSync(host.marker)).toBe(false);
});

test('another system after the reboot is a failure, and the host is not rebooted again', async () => {
  await using host = await hostWith({ second: '2', primary: 1 });
  await writeFile(host.marker, 'an earlier boot');
  await expect(host.boot()).rejects.toThrow(
    'after the reboot the host runs rootfs.0 with version 1: the boot loader did not start version 2',
  );
  expect(host.asked).toEqual([]);
});

test('the previous slot is marked good when the host has booted it again', async () => {
  await using host = await hostWith({ second: '2' });
  expect(await host.boot({ slot: 'rootfs.0' })).toMatchObject({ outcome: 'configured' });
  expect(host.asked).toEqual(['rauc status mark-good booted']);
});
