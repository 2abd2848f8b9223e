import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  lchown,
  link,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
} from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { applyTo, lines, never, packageOf, sandbox } from './sandbox.ts';

const ids = async (path: string) => {
  const { uid, gid } = await lstat(path);
  return [uid, gid];
};

describe.skipIf(process.getuid?.() !== 0)('owners, as root', () => {
  it('are looked up on the host, and restored with the original file', async () => {
    await using host = await sandbox();
    await host.put('/etc/x', 'before');
    await chown(host.at('/etc/x'), 77, 88);
    const meta = { owner: 'kiosk', group: 'kiosk' };
    const desired = packageOf({
      files: { '/etc/x': { content: '1', ...meta }, '/etc/n': { content: '2', owner: '7', group: 'root' } },
      directories: { '/srv': meta },
    });
    await applyTo(host.target, host.inventory, desired);
    expect(await ids(host.at('/etc/x'))).toEqual([1234, 2345]);
    expect(await ids(host.at('/srv'))).toEqual([1234, 2345]);
    expect(await ids(host.at('/etc/n'))).toEqual([7, 0]);
    expect(lines((await applyTo(host.target, host.inventory, desired)).plan.steps)).toEqual([]);
    await applyTo(host.target, host.inventory, undefined);
    expect(await ids(host.at('/etc/x'))).toEqual([77, 88]);
  });

  it('changed owners and modes are drift, and are corrected without rewriting the content', async () => {
    await using host = await sandbox();
    const desired = packageOf({ files: { '/etc/x': '1' } });
    await applyTo(host.target, host.inventory, desired);
    const before = await lstat(host.at('/etc/x'));
    await chown(host.at('/etc/x'), 1234, 0);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([
      { key: 'file:/etc/x', what: 'owner', message: '/etc/x belongs to 1234:0, not to root:root' },
    ]);
    const { results } = await applyTo(host.target, host.inventory, desired);
    expect(lines(results)).toEqual(['configured file:/etc/x: owner 1234:0 -> 0:0']);
    expect(await lstat(host.at('/etc/x'))).toMatchObject({
      uid: 0,
      mtimeMs: before.mtimeMs,
      ino: before.ino,
    });
  });

  it('of a symbolic link in the path are checked: one of another user is not followed', async () => {
    await using host = await sandbox();
    await mkdir(host.at('/home'));
    await symlink('../etc', host.at('/home/conf'));
    const desired = packageOf({ files: { '/home/conf/x': '1' } });
    await lchown(host.at('/home/conf'), 1234, 2345);
    await expect(applyTo(host.target, host.inventory, desired)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: '/home/conf is a symbolic link that belongs to user 1234: not followed',
    });
    await lchown(host.at('/home/conf'), 0, 0);
    await applyTo(host.target, host.inventory, desired);
    expect(await host.read('/etc/x')).toBe('1');
  });
});

const MALLORY = 1234;

/** A host with a home of a local user in it, and a directory of root's beside. */
const withMallory = async () => {
  const host = await sandbox();
  await mkdir(host.at('/etc/cron.d'));
  await mkdir(host.at('/home/mallory'), { recursive: true });
  await chown(host.at('/home/mallory'), MALLORY, MALLORY);
  /** A link of hers. */
  const plant = async (target: string, path: string) => {
    await symlink(target, host.at(path));
    await lchown(host.at(path), MALLORY, MALLORY);
  };
  return Object.assign(host, { plant });
};

const answerOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ACCEPT',
    ({ code }: { code: string }) => code,
  );

const script = (path: string) => packageOf({ files: { [path]: { content: '#!/bin/sh\n', mode: '0755' } } });

describe.skipIf(process.getuid?.() !== 0)("a local user's links, as root", () => {
  it("L1: a link of root's that leads to a link of hers is followed no further -> APPLY_FAILED", async () => {
    await using host = await withMallory();
    await symlink('../home/mallory/app', host.at('/etc/app'));
    await host.plant('../../etc/cron.d', '/home/mallory/app');
    await expect(applyTo(host.target, host.inventory, script('/etc/app/run'))).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: '/home/mallory/app is a symbolic link that belongs to user 1234: not followed',
    });
    expect(await readdir(host.at('/etc/cron.d'))).toEqual([]);
  });

  it.each([
    ['belongs to her', async () => {}],
    [
      'everybody can write to',
      async (home: string) => {
        await chown(home, 0, 0);
        await chmod(home, 0o777);
      },
    ],
    [
      'her group can write to',
      async (home: string) => {
        await chown(home, 0, MALLORY);
        await chmod(home, 0o775);
      },
    ],
  ])("L2: a link of root's in a directory that %s is not followed -> APPLY_FAILED", async (_, prepare) => {
    await using host = await withMallory();
    await symlink('../../etc/cron.d', host.at('/home/mallory/app'));
    await prepare(host.at('/home/mallory'));
    await expect(applyTo(host.target, host.inventory, script('/home/mallory/app/run'))).rejects.toMatchObject(
      {
        code: 'APPLY_FAILED',
        message:
          '/home/mallory/app is a symbolic link in a directory that others can change (/home/mallory): not followed',
      },
    );
    expect(await readdir(host.at('/etc/cron.d'))).toEqual([]);
  });

  it("of another user in a sticky directory are not followed, while root's are", async () => {
    await using host = await withMallory();
    await mkdir(host.at('/tmp'));
    await chmod(host.at('/tmp'), 0o1777);
    await host.plant('../etc/cron.d', '/tmp/hers');
    await symlink('../etc', host.at('/tmp/roots'));
    await expect(applyTo(host.target, host.inventory, script('/tmp/hers/x'))).rejects.toMatchObject({
      code: 'APPLY_FAILED',
    });
    await applyTo(host.target, host.inventory, script('/tmp/roots/x'));
    expect(await host.read('/etc/x')).toBe('#!/bin/sh\n');
  });

  it("do not prevent a package's files in a user's directory", async () => {
    await using host = await withMallory();
    await applyTo(host.target, host.inventory, script('/home/mallory/bin/run'));
    expect(await host.read('/home/mallory/bin/run')).toBe('#!/bin/sh\n');
    await applyTo(host.target, host.inventory, undefined);
    expect(await readdir(host.at('/home/mallory'))).toEqual([]);
  });

  it('L4: a hard link of hers to a file of root keeps that file as it is -> ACCEPT', async () => {
    await using host = await withMallory();
    await host.put('/etc/shadow', '#!/bin/sh\n', 0o600);
    await link(host.at('/etc/shadow'), host.at('/home/mallory/run'));
    const hers = { content: '#!/bin/sh\n', mode: '0644', owner: 'kiosk', group: 'kiosk' };
    const desired = packageOf({ files: { '/home/mallory/run': hers } });
    expect(await answerOf(applyTo(host.target, host.inventory, desired))).toBe('ACCEPT');
    expect(await host.tree()).toContain('etc/shadow file 600 #!/bin/sh\n');
    expect(await ids(host.at('/etc/shadow'))).toEqual([0, 0]);
    expect(await ids(host.at('/home/mallory/run'))).toEqual([1234, 2345]);
  });

  it('that a package replaced are restored with their owner', async () => {
    await using host = await withMallory();
    await host.plant('../../etc/passwd', '/home/mallory/run');
    await applyTo(host.target, host.inventory, script('/home/mallory/run'));
    expect(await ids(host.at('/home/mallory/run'))).toEqual([0, 0]);
    await applyTo(host.target, host.inventory, undefined);
    expect(await readlink(host.at('/home/mallory/run'))).toBe('../../etc/passwd');
    expect(await ids(host.at('/home/mallory/run'))).toEqual([MALLORY, MALLORY]);
    expect(await ids(host.at('/etc/passwd'))).toEqual([0, 0]);
  });

  it('L5: a closed directory of root that she moved to another name is not opened up -> APPLY_FAILED', async () => {
    await using host = await withMallory();
    const desired = packageOf({
      directories: {
        '/home/mallory/closed': { mode: '0700' },
        '/home/mallory/open': { owner: 'kiosk', group: 'kiosk' },
      },
      files: { '/home/mallory/closed/key': 'secret' },
    });
    await applyTo(host.target, host.inventory, desired);
    await rmdir(host.at('/home/mallory/open'));
    await rename(host.at('/home/mallory/closed'), host.at('/home/mallory/open'));
    await expect(applyTo(host.target, host.inventory, desired)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: expect.stringContaining('/home/mallory/open belongs to root'),
    });
    expect(await host.tree()).toContain('home/mallory/open directory 700');
  });

  it.each([
    ['swapped', 'rename'],
    ['exchanged at once, by renameat2,', 'renameat2'],
  ])(
    'L3: %s for a directory and back while the agent writes and removes, lead nowhere -> APPLY_FAILED',
    async (_, how) => {
      await using host = await withMallory();
      await host.put('/etc/cron.d/run', 'of root', 0o600);
      await mkdir(host.at('/etc/cron.d/sub'), { mode: 0o700 });
      const before = (await host.tree()).filter((line) => line.startsWith('etc/cron.d'));
      await chmod(host.folder, 0o711);
      await symlink('../home/mallory/app', host.at('/etc/app'));
      const swap = `
      const { mkdirSync, renameSync, symlinkSync } = require('node:fs');
      process.chdir(${JSON.stringify(host.at('/home/mallory'))});
      mkdirSync('app');
      symlinkSync('../../etc/cron.d', 'link');
      process.stdout.write('ready');
      const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * 6);
      for (;;) {
        renameSync('app', 'directory'); renameSync('link', 'app');
        pause();
        renameSync('app', 'link'); renameSync('directory', 'app');
        pause();
      }`;
      const exchange = `
import ctypes, os, random, time
os.chdir(${JSON.stringify(host.at('/home/mallory'))})
os.mkdir('app')
os.symlink('../../etc/cron.d', 'link')
call = ctypes.CDLL(None, use_errno=True).renameat2
os.write(1, b'ready')
while True:
    assert call(-100, b'app', -100, b'link', 2) == 0
    time.sleep(random.random() * 0.006)
`;
      const argv: readonly [string, string[]] =
        how === 'rename' ? [process.execPath, ['-e', swap]] : ['python3', ['-c', exchange]];
      const mallory = spawn(...argv, { uid: MALLORY, gid: MALLORY });
      try {
        await once(mallory.stdout, 'data');
        const codes = new Set<string>();
        for (let at = 0; at < 150; at += 1) {
          const folder = at % 2 === 0 ? '/etc/app' : '/home/mallory/app';
          const desired = packageOf({
            directories: { [`${folder}/sub`]: { owner: 'kiosk', group: 'kiosk' } },
            files: { [`${folder}/run`]: { content: '#!/bin/sh\n', mode: '0755', owner: 'kiosk' } },
          });
          const inventory = { owned: [] };
          codes.add(await answerOf(applyTo(host.target, inventory, desired)));
          codes.add(await answerOf(applyTo(host.target, inventory, undefined)));
        }
        expect([...codes].toSorted()).toEqual(['ACCEPT', 'APPLY_FAILED']);
      } finally {
        mallory.kill('SIGKILL');
      }
      expect((await host.tree()).filter((line) => line.startsWith('etc/cron.d'))).toEqual(before);
      for (const path of ['/etc/cron.d', '/etc/cron.d/run', '/etc/cron.d/sub'])
        expect(await ids(host.at(path))).toEqual([0, 0]);
    },
  );
});

describe('owners, not as root', () => {
  const other = { owner: 'kiosk', group: 'kiosk' };

  it('are skipped, with a reason in the result', async () => {
    await using host = await sandbox({ isRoot: false });
    const desired = packageOf({
      files: { '/etc/x': { content: '1', ...other } },
      directories: { '/srv': other },
    });
    const { results } = await applyTo(host.target, host.inventory, desired);
    const skipped = 'not root: owner kiosk:kiosk is not set';
    expect(lines(results)).toEqual([
      `created directory:/srv: missing; ${skipped}`,
      `created file:/etc/x: missing; ${skipped}`,
    ]);
    expect(await ids(host.at('/etc/x'))).toEqual([process.getuid?.(), process.getgid?.()]);
    const { plan } = await applyTo(host.target, host.inventory, desired);
    expect(lines(plan.steps)).toEqual([
      `skipped directory:/srv: ${skipped}`,
      `skipped file:/etc/x: ${skipped}`,
    ]);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
  });

  it('need no passwd file on a host without one', async () => {
    await using host = await sandbox({ isRoot: false });
    await rm(host.at('/etc'), { recursive: true });
    const desired = packageOf({ files: { '/etc/x': { content: '1', ...other } } });
    await applyTo(host.target, host.inventory, desired);
    expect(await host.read('/etc/x')).toBe('1');
  });
});

describe('an owner that the host lacks', () => {
  it.each([
    [{ owner: 'nobody-here' }, 'the user "nobody-here", which is not in the host\'s /etc/passwd'],
    [{ group: 'no-group' }, 'the group "no-group", which is not in the host\'s /etc/group'],
  ])('is refused before anything is written', async (meta, message) => {
    await using host = await sandbox();
    const before = await host.tree();
    const desired = packageOf({ files: { '/etc/a': '1', '/etc/x': { content: '1', ...meta } } });
    await expect(applyTo(host.target, host.inventory, desired)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: `/etc/x must belong to ${message}`,
    });
    expect(await host.tree()).toEqual(before);
  });
});
