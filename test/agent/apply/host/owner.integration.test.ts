import { chown, lchown, lstat, mkdir, rm, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { applyTo, lines, never, packageOf, sandbox } from './sandbox.ts';

const ids = async (path: string) => {
  const { uid, gid } = await lstat(path);
  return [uid, gid];
};

describe.skipIf(process.getuid?.() !== 0)('owners, as root', () => {
  it("are set by the host's own numbers, and put back with the file that was there", async () => {
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

  it('are drift when somebody changes them, and corrected without touching the bytes', async () => {
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

  it('of a link in the way count: one that a stranger may have placed is not followed', async () => {
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

describe('owners, not as root', () => {
  const other = { owner: 'kiosk', group: 'kiosk' };

  it('are skipped and said so, never configured', async () => {
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

  it('need no names on a host that has none yet', async () => {
    await using host = await sandbox({ isRoot: false });
    await rm(host.at('/etc'), { recursive: true });
    const desired = packageOf({ files: { '/etc/x': { content: '1', ...other } } });
    await applyTo(host.target, host.inventory, desired);
    expect(await host.read('/etc/x')).toBe('1');
  });
});

describe('an owner that the host does not know', () => {
  it.each([
    [{ owner: 'nobody-here' }, 'the user "nobody-here", who is not in the host\'s /etc/passwd'],
    [{ group: 'no-group' }, 'the group "no-group", who is not in the host\'s /etc/group'],
  ])('is refused before anything is written', async (meta, message) => {
    await using host = await sandbox();
    const before = await host.tree();
    const desired = packageOf({ files: { '/etc/a': '1', '/etc/x': { content: '1', ...meta } } });
    await expect(applyTo(host.target, host.inventory, desired)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: `/etc/x shall belong to ${message}`,
    });
    expect(await host.tree()).toEqual(before);
  });
});
