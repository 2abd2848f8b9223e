import { chmod, rm, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { applyTo, never, packageOf, sandbox } from './sandbox.ts';

const desired = packageOf({ files: { '/etc/x': 'v1', '/opt/y': 'v1' }, directories: { '/srv': {} } });

describe('drift', () => {
  it('is reported for changed content, mode, type and missing files', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, desired);
    await writeFile(host.at('/etc/x'), 'v2');
    await chmod(host.at('/etc/x'), 0o666);
    await rm(host.at('/opt'), { recursive: true });
    await rm(host.at('/srv'), { recursive: true });
    await symlink('etc', host.at('/srv'));
    const drifts = await host.target.observe(desired, host.inventory.owned, never);
    expect(drifts.map(({ key, what }) => `${key} ${what}`)).toEqual([
      'directory:/srv type',
      'file:/etc/x content',
      'file:/etc/x mode',
      'file:/opt/y missing',
    ]);
    expect(drifts[2]?.message).toBe('/etc/x has mode 0666, not 0644');
  });

  it('is reported for a file that the package no longer contains', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, desired);
    const less = packageOf({ files: { '/etc/x': 'v1' }, directories: { '/srv': {} } });
    await applyTo(host.target, host.inventory, less, new Map(), 0);
    const drifts = await host.target.observe(less, host.inventory.owned, never);
    expect(drifts.map(({ key, what }) => `${key} ${what}`)).toEqual(['file:/opt/y extra']);
  });

  it('is an error when something cannot be read', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, desired);
    await rm(host.at('/opt'), { recursive: true });
    await symlink('/', host.at('/opt'));
    await expect(host.target.observe(desired, host.inventory.owned, never)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: expect.stringContaining('/opt is a symbolic link'),
    });
    await rm(host.root, { recursive: true });
    await expect(host.target.observe(desired, [], never)).rejects.toMatchObject({ code: 'APPLY_FAILED' });
  });

  it('stops when the signal aborts', async () => {
    await using host = await sandbox();
    await expect(host.target.observe(desired, [], AbortSignal.abort())).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });
});
