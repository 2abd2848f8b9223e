import { execFileSync } from 'node:child_process';
import { chown, lchown, mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { hostTarget } from '../../../../agent/apply/host/host-target.ts';
import { namesByMounts, parseMounts } from '../../../../agent/apply/host/live/mounts.ts';
import { placesOf } from '../../../../agent/apply/host/live/read-places.ts';
import type { OwnedObject } from '../../../../agent/model/target.ts';
import { createSecretWorld } from '../../secrets/secret-world.ts';
import { applyTo, lines, never, type PackageSpec, packageOf, sandbox } from './sandbox.ts';

type Host = Awaited<ReturnType<typeof sandbox>>;
const apply = (host: Host, spec: PackageSpec | undefined, limit?: number) =>
  applyTo(host.target, host.inventory, spec && packageOf(spec), new Map(), limit);

/** A host as Debian makes it since 12. */
const merged = async (): Promise<Host> => {
  const host = await sandbox();
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(host.at(`/usr/${name}`), { recursive: true });
    await symlink(`usr/${name}`, host.at(`/${name}`));
  }
  await mkdir(host.at('/run'));
  await mkdir(host.at('/var'));
  await symlink('../run', host.at('/var/run'));
  return host;
};

/** Whether the release with a path has what it brings, nothing is left to do, and nothing is flagged. */
const expectSettled = async (host: Host, spec: PackageSpec): Promise<void> => {
  const desired = packageOf(spec);
  expect(lines((await host.target.plan(desired, host.inventory.owned, new Map(), never)).steps)).toEqual([]);
  expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
};

describe('a path that changes to another name of the same place', () => {
  it.each([
    ['/lib/tool/x', '/usr/lib/tool/x'],
    ['/usr/lib/tool/x', '/lib/tool/x'],
    ['/sbin/x', '/usr/sbin/x'],
    ['/lib/systemd/system/x.service', '/usr/lib/systemd/system/x.service'],
    ['/usr/lib/systemd/system/x.service.d/10.conf', '/lib/systemd/system/x.service.d/10.conf'],
  ])('keeps its file: %s -> %s, and leaves nothing behind', async (from, to) => {
    await using host = await merged();
    const before = await host.tree();
    await apply(host, { files: { [from]: 'v1' } });
    for (const spec of [{ files: { [to]: 'v2' } }, { files: { [from]: 'v2' } }, { files: { [to]: 'v3' } }]) {
      await apply(host, spec);
      await expectSettled(host, spec);
    }
    expect(await host.read(to)).toBe('v3');
    await apply(host, undefined);
    expect(await host.tree()).toEqual(before);
    expect(await readdir(host.options.backups).catch(() => [])).toEqual([]);
  });

  it('keeps a copy of the original, and restores it when the package is removed under the other path', async () => {
    await using host = await merged();
    await host.put('/usr/lib/tool.conf', 'of the administrator', 0o600);
    const before = await host.tree();
    await apply(host, { files: { '/lib/tool.conf': 'v1' } });
    await apply(host, { files: { '/usr/lib/tool.conf': 'v2' } });
    await apply(host, undefined);
    expect(await host.tree()).toEqual(before);
  });

  it('is rolled back after any number of steps', async () => {
    for (let limit = 0; limit < 4; limit++) {
      await using host = await merged();
      const one = { files: { '/lib/tool/a': 'v1', '/usr/lib/tool/b': 'v1' } };
      await apply(host, one);
      const after = await host.tree();
      await apply(host, { files: { '/usr/lib/tool/a': 'v2', '/lib/tool/b': 'v2' } }, limit);
      await apply(host, one);
      expect(await host.tree()).toEqual(after);
      await expectSettled(host, one);
    }
  });

  it('may be a directory: mode, owner and removal', async () => {
    await using host = await merged();
    const before = await host.tree();
    await apply(host, { directories: { '/lib/tool': { mode: '0700' } }, files: { '/usr/lib/tool/x': '1' } });
    const next = { directories: { '/usr/lib/tool': { mode: '0711' } }, files: { '/lib/tool/y': '1' } };
    await apply(host, next);
    await expectSettled(host, next);
    expect(await host.tree()).toContain('usr/lib/tool directory 711');
    await apply(host, undefined);
    expect(await host.tree()).toEqual(before);
  });

  it('is recognised by the name that an earlier agent recorded', async () => {
    await using host = await merged();
    const before = await host.tree();
    await apply(host, { files: { '/lib/tool/x': 'v1' } });
    host.inventory.owned = host.inventory.owned.map(
      ({ key, state }): OwnedObject => ({ key: key.replace(':/usr/lib/', ':/lib/'), state }),
    );
    await apply(host, { files: { '/usr/lib/tool/x': 'v2' } });
    expect(await host.read('/lib/tool/x')).toBe('v2');
    await apply(host, undefined);
    expect(await host.tree()).toEqual(before);
  });
});

describe('a symbolic link of the administrator', () => {
  const spec = { files: { '/srv/app/x': 'v1' } };

  it('is followed: the file is written to its target, and removed from there', async () => {
    await using host = await sandbox();
    await host.put('/data/app/x', 'before');
    await mkdir(host.at('/srv'));
    await symlink('../data/app', host.at('/srv/app'));
    const before = await host.tree();
    await apply(host, spec);
    await apply(host, { files: { '/data/app/x': 'v2' } });
    expect(await host.read('/srv/app/x')).toBe('v2');
    await expectSettled(host, { files: { '/data/app/x': 'v2' } });
    await apply(host, undefined);
    expect(await host.tree()).toEqual(before);
  });

  it('with a changed target is drift: the old place is restored, the new one written', async () => {
    await using host = await sandbox();
    await host.put('/data/one/x', 'before, in one');
    await host.put('/data/two/x', 'before, in two');
    await mkdir(host.at('/srv'));
    await symlink('../data/one', host.at('/srv/app'));
    await apply(host, spec);
    await rm(host.at('/srv/app'));
    await symlink('../data/two', host.at('/srv/app'));
    const drift = await host.target.observe(packageOf(spec), host.inventory.owned, never);
    expect(drift.map(({ what, message }) => `${what} ${message}`)).toEqual([
      'content /srv/app/x has other content than the package',
    ]);
    await apply(host, spec);
    expect(await host.read('/data/one/x')).toBe('before, in one');
    expect(await host.read('/data/two/x')).toBe('v1');
    await expectSettled(host, spec);
    await apply(host, undefined);
    expect(await host.read('/data/two/x')).toBe('before, in two');
  });

  it('in place of the directory is recognised, when the files were moved along', async () => {
    await using host = await sandbox();
    await host.put('/data/other', 'x');
    await apply(host, spec);
    await rename(host.at('/srv/app'), host.at('/data/app'));
    await symlink('../data/app', host.at('/srv/app'));
    const { plan } = await apply(host, spec);
    expect(lines(plan.steps)).toEqual([
      'skipped parent:/srv/app: it is no longer a directory, so the agent leaves it',
      'skipped parent:/srv: not empty: it holds what the package does not own',
    ]);
    await expectSettled(host, spec);
    const next = { files: { '/srv/app/x': 'v2' } };
    await apply(host, next);
    await expectSettled(host, next);
    await apply(host, undefined);
    // The folder that the administrator moved there is not the one that was made.
    expect(await host.tree()).toContain('data/app directory 755');
    expect(await readlink(host.at('/srv/app'))).toBe('../data/app');
    expect((await host.tree()).filter((line) => line.endsWith('v2'))).toEqual([]);
  });

  it("to the administrator's files with the same names keeps and restores them", async () => {
    await using host = await sandbox();
    await apply(host, spec);
    await rename(host.at('/srv/app'), host.at('/srv/app.old'));
    await host.put('/data/app/x', 'of the administrator');
    await symlink('../data/app', host.at('/srv/app'));
    await apply(host, spec);
    expect(await host.read('/data/app/x')).toBe('v1');
    await apply(host, undefined);
    expect(await host.read('/data/app/x')).toBe('of the administrator');
  });
});

describe('two paths of one place', () => {
  it('in one package are refused, and nothing is written', async () => {
    await using host = await merged();
    const before = await host.tree();
    await expect(
      apply(host, { files: { '/lib/tool/x': '1', '/usr/lib/tool/x': '2' } }),
    ).rejects.toMatchObject({
      code: 'PATH_CLAIMED',
      message:
        'kiosk lists /lib/tool/x and /usr/lib/tool/x, which are one entry of this host, /usr/lib/tool/x',
    });
    await expect(apply(host, { files: { '/lib/a': '1', '/usr/lib/a/b': '2' } })).rejects.toMatchObject({
      code: 'PATH_CLAIMED',
      message:
        'kiosk lists /usr/lib/a/b below its own file /lib/a: on this host they are /usr/lib/a/b and /usr/lib/a',
    });
    expect(await host.tree()).toEqual(before);
  });

  it('in two packages are refused for the second, which gets the file when the first is removed', async () => {
    await using world = await createSecretWorld();
    await mkdir(world.at('/usr/lib'), { recursive: true });
    await symlink('usr/lib', world.at('/lib'));
    const a = { id: 'a', files: { '/lib/tool/x': 'a' } };
    const b = { id: 'b', files: { '/usr/lib/tool/x': 'b' } };
    const first = await world.take({ release: 1, packages: [a, b] });
    expect(first.packages).toMatchObject([
      { assignment: 'a', outcome: 'created' },
      { assignment: 'b', outcome: 'failed', code: 'PATH_CLAIMED' },
    ]);
    expect(first.packages[1]?.message).toContain('/usr/lib/tool/x (of a)');
    expect(await world.read('/lib/tool/x')).toBe('a');
    const second = await world.take({ release: 2, packages: [b] });
    expect(second.packages).toMatchObject([
      { assignment: 'b', outcome: 'created' },
      { assignment: 'a', outcome: 'deleted' },
    ]);
    expect(await world.read('/lib/tool/x')).toBe('b');
    await world.take({ release: 3, packages: [{ id: 'b', files: { '/etc/other': '1' } }] });
    await expect(world.read('/usr/lib/tool/x')).rejects.toThrow('ENOENT');
  });

  it('can be exchanged between packages in one release without losing a file', async () => {
    await using world = await createSecretWorld();
    await mkdir(world.at('/usr/lib'), { recursive: true });
    await symlink('usr/lib', world.at('/lib'));
    const release = (version: number, a: string, b: string) =>
      world.take({
        release: version,
        packages: [
          { id: 'a', files: { [a]: a.slice(-3), '/etc/a': `${version}` } },
          { id: 'b', files: { [b]: b.slice(-3), '/etc/b': `${version}` } },
        ],
      });
    for (const [index, [a, b]] of [
      ['/lib/one', '/usr/lib/two'],
      ['/lib/one', '/lib/two'],
      ['/usr/lib/one', '/usr/lib/ten'],
      ['/usr/lib/ten', '/lib/six'],
      ['/lib/two', '/usr/lib/six'],
    ].entries()) {
      const { packages } = await release(index + 1, a ?? '', b ?? '');
      expect(packages.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
      const left = new Set(await readdir(world.at('/usr/lib')));
      expect(left).toEqual(new Set([a, b].map((path) => path?.slice(-3))));
    }
  });
});

describe("the agent's own files", () => {
  it.each([
    ['/srv/own/agent.key', 'etc/fleet-agent'],
    ['/srv/own/fleet-agent/x', 'var/lib'],
  ])('are refused by another name: %s', async (path, leadsTo) => {
    await using host = await sandbox();
    await mkdir(host.at(`/${leadsTo}`), { recursive: true });
    await mkdir(host.at('/srv'));
    await symlink(`../${leadsTo}`, host.at('/srv/own'));
    await expect(apply(host, { files: { [path]: '1' } })).rejects.toMatchObject({
      code: 'OUT_OF_BOUNDS',
      message: expect.stringContaining(`${path} is /${leadsTo}`),
    });
  });
});

describe("the agent's state directory below the root", () => {
  it('is refused to every package, by its path there', async () => {
    await using host = await sandbox();
    await mkdir(host.at('/var/state'), { recursive: true });
    const target = hostTarget({ ...host.options, state: host.at('/var/state') });
    const desired = packageOf({ files: { '/var/state/state.db': '1' } });
    await expect(target.plan(desired, [], new Map(), never)).rejects.toMatchObject({
      code: 'OUT_OF_BOUNDS',
      message: 'kiosk: /var/state/state.db belongs to the agent itself',
    });
  });
});

describe('mount points', () => {
  const table = [
    '21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
    '30 21 8:17 / /data\\040disk rw - ext4 /dev/sdb1 rw',
    '31 21 8:17 /app /srv/app rw - ext4 /dev/sdb1 rw',
    '32 21 8:1 /opt/x /mnt rw - ext4 /dev/sda1 rw',
  ].join('\n');

  it.each([
    ['/srv/app/a', ['/data disk/app/a', '/srv/app/a']],
    ['/data disk/app', ['/data disk/app', '/srv/app']],
    ['/mnt', ['/opt/x', '/mnt']],
    ['/etc', ['/etc']],
    ['/', ['/']],
  ])('give %s the names %j', (path, names) => {
    expect(namesByMounts(parseMounts(table), path)).toEqual(names);
  });

  const canMount = process.getuid?.() === 0;
  it.skipIf(!canMount)('of one directory in two places are one place', async () => {
    await using host = await sandbox();
    await host.put('/data/app/x', 'before');
    await mkdir(host.at('/srv/app'), { recursive: true });
    execFileSync('mount', ['--bind', host.at('/data/app'), host.at('/srv/app')]);
    try {
      const places = placesOf(host.root);
      expect(await places.file('/srv/app/new/y')).toBe(await places.file('/data/app/new/y'));
      const before = await host.tree();
      await apply(host, { files: { '/srv/app/x': 'v1' } });
      await apply(host, { files: { '/data/app/x': 'v2' } });
      await expectSettled(host, { files: { '/data/app/x': 'v2' } });
      expect(await host.read('/srv/app/x')).toBe('v2');
      await apply(host, undefined);
      expect(await host.tree()).toEqual(before);
    } finally {
      execFileSync('umount', [host.at('/srv/app')]);
    }
  });
});

describe.skipIf(process.getuid?.() !== 0)('a link of a local user', () => {
  it('of another user does not make two paths one: it is not followed, and claims no path', async () => {
    await using host = await sandbox();
    await host.put('/usr/lib/till/x', '1');
    await mkdir(host.at('/home/mallory'), { recursive: true });
    await chown(host.at('/home/mallory'), 1234, 2345);
    await symlink('../../usr/lib/till', host.at('/home/mallory/app'));
    await lchown(host.at('/home/mallory/app'), 1234, 2345);
    expect(await placesOf(host.root).file('/home/mallory/app/x')).toBe('/home/mallory/app/x');
    // Not even a link of root in a directory that mallory can change.
    await lchown(host.at('/home/mallory/app'), 0, 0);
    expect(await placesOf(host.root).file('/home/mallory/app/x')).toBe('/home/mallory/app/x');
  });
});
