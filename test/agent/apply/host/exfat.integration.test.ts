import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { globSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rootAccess } from '../../../harness/hosts/as-root.ts';
import { loopDevices } from '../../../harness/hosts/loop-devices.ts';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { applyTo, lines, never, packageOf, sandbox } from './sandbox.ts';

/** A host with exFAT at /boot/firmware, which gives every entry the mode and owner of the mount. */
const withExfat = async (exfat: string, options: string) => {
  const host = await sandbox();
  const [image, point] = [join(host.folder, 'image'), host.at('/boot/firmware')];
  await runOrFail(['truncate', '--size=64M', image]);
  await runOrFail([join(exfat, 'usr/sbin/mkfs.exfat'), image]);
  await mkdir(point, { recursive: true });
  const [device] = await loopDevices(1);
  await runOrFail(['losetup', device?.path ?? '', image]);
  const [library = ''] = globSync(join(exfat, '{usr/,}lib/*/libfuse.so.2'));
  const env = { ...process.env, LD_LIBRARY_PATH: dirname(library) };
  const program = join(exfat, 'sbin/mount.exfat-fuse');
  const mount = (wanted: string) => runOrFail([program, '-o', wanted, device?.path ?? '', point], { env });
  const unmount = () => runOrFail(['umount', point]);
  await mount(options);
  return {
    ...host,
    remount: async (wanted: string) => {
      await unmount();
      await mount(wanted);
    },
    drift: async (desired: ReturnType<typeof packageOf>) =>
      (await host.target.observe(desired, host.inventory.owned, never)).map(({ message }) => message),
    apply: async (desired: ReturnType<typeof packageOf>) =>
      lines((await applyTo(host.target, host.inventory, desired)).results),
    [Symbol.asyncDispose]: async () => {
      await unmount();
      await runOrFail(['losetup', '-d', device?.path ?? '']);
      await host[Symbol.asyncDispose]();
    },
  };
};

const CONFIG = '/boot/firmware/app/config.txt';
const FOLDER = '/boot/firmware/app';

describeWith(['exfat'], 'a file system without modes', ({ exfat }) => {
  it.skipIf(rootAccess() !== 'root')(
    'is not corrected for ever: the mode that it gives is reported once and compared from then on',
    async () => {
      await using host = await withExfat(exfat, 'umask=022');
      const desired = packageOf({
        files: { [CONFIG]: 'arm_64bit=1\n' },
        directories: { [FOLDER]: { mode: '0775' } },
      });
      expect(await host.apply(desired)).toEqual([
        `created directory:${FOLDER}: missing; its file system gives it mode 0755 instead of 0775`,
        `created file:${CONFIG}: missing; its file system gives it mode 0755 instead of 0644`,
      ]);
      expect(await host.drift(desired)).toEqual([]);
      expect(await host.apply(desired)).toEqual([]);
      expect(await host.drift(desired)).toEqual([]);

      const other = packageOf({ files: { [CONFIG]: { content: 'arm_64bit=1\n', mode: '0744' } } });
      expect(await host.apply(other)).toEqual([
        `configured file:${CONFIG}: mode 0755 -> 0744; its file system gives it mode 0755 instead of 0744`,
      ]);
      expect(await host.drift(other)).toEqual([]);
    },
  );

  it.skipIf(rootAccess() !== 'root')('is compared again after it was mounted with other modes', async () => {
    await using host = await withExfat(exfat, 'umask=022');
    const desired = packageOf({ files: { [CONFIG]: 'arm_64bit=1\n' } });
    await host.apply(desired);
    await host.remount('fmask=0133,dmask=022');
    expect(await host.drift(desired)).toEqual([]);
    expect(await host.apply(desired)).toEqual([]);
    await host.remount('umask=022');
    expect(await host.drift(desired)).toEqual([`${CONFIG} has mode 0755, not 0644`]);
    await host.apply(desired);
    expect(await host.drift(desired)).toEqual([]);
    await host.remount('umask=0');
    expect(await host.drift(desired)).toEqual([`${CONFIG} has mode 0777, not 0644`]);
    await expect(host.apply(desired)).rejects.toMatchObject({ code: 'APPLY_FAILED' });
  });

  it.skipIf(rootAccess() !== 'root')(
    'gets no file that more users could read or write there than the package says',
    async () => {
      await using host = await withExfat(exfat, 'umask=022');
      const desired = packageOf({ files: { '/boot/firmware/wifi.conf': { content: 'psk', mode: '0600' } } });
      await expect(host.apply(desired)).rejects.toMatchObject({
        code: 'APPLY_FAILED',
        message:
          '/boot/firmware/wifi.conf would be open to more users than the package says: its file system gives it mode 0755 instead of 0600',
      });
      await expect(stat(host.at('/boot/firmware/wifi.conf'))).rejects.toMatchObject({ code: 'ENOENT' });
      await host.remount('umask=077');
      expect(await host.apply(desired)).toEqual([
        'created file:/boot/firmware/wifi.conf: missing; its file system gives it mode 0700 instead of 0600',
      ]);
      expect(await host.drift(desired)).toEqual([]);
    },
  );

  it.skipIf(rootAccess() !== 'root')('gets no file of another owner than the mount gives', async () => {
    await using host = await withExfat(exfat, 'umask=022,uid=77,gid=88');
    const file = (owner: string, group: string) =>
      packageOf({ files: { '/boot/firmware/config.txt': { content: '1', owner, group } } });
    await expect(host.apply(file('root', 'root'))).rejects.toMatchObject({
      message: 'the file system of /boot/firmware/config.txt gives it the owner 77:88 instead of 0:0',
    });
    await host.apply(file('77', '88'));
    expect(await host.drift(file('77', '88'))).toEqual([]);
  });
});
