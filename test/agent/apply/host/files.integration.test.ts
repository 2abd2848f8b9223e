import { lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryName } from '../../../../agent/apply/host/live/temporary-name.ts';
import { digestOf, hexOf } from '../../../../bundles/digest.ts';
import { applyTo, lines, never, packageOf, sandbox, treeOf } from './sandbox.ts';

describe('files of a host package', () => {
  it('are written with their mode and parents, and a second plan is unchanged', async () => {
    await using host = await sandbox();
    const desired = packageOf({
      directories: { '/var/lib/kiosk': { mode: '0700' } },
      files: { '/etc/kiosk/main.conf': { content: 'a=1\n', mode: '0600' }, '/opt/kiosk/run': 'x' },
    });
    const { results } = await applyTo(host.target, host.inventory, desired);
    expect(lines(results)).toEqual([
      'created parent:/etc/kiosk: missing',
      'created parent:/opt: missing',
      'created parent:/opt/kiosk: missing',
      'created parent:/var: missing',
      'created parent:/var/lib: missing',
      'created directory:/var/lib/kiosk: missing',
      'created file:/etc/kiosk/main.conf: missing',
      'created file:/opt/kiosk/run: missing',
    ]);
    expect(await host.tree()).toContain('etc/kiosk/main.conf file 600 a=1\n');
    expect(await host.tree()).toContain('var/lib/kiosk directory 700');
    const before = await lstat(host.at('/etc/kiosk/main.conf'));
    const again = await applyTo(host.target, host.inventory, desired);
    expect(lines(again.plan.steps)).toEqual([]);
    const after = await lstat(host.at('/etc/kiosk/main.conf'));
    expect([after.mtimeMs, after.ino]).toEqual([before.mtimeMs, before.ino]);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
  });

  it('may exceed the read buffer', async () => {
    await using host = await sandbox();
    const desired = packageOf({ files: { '/opt/big': 'x'.repeat(3 << 20) } });
    await applyTo(host.target, host.inventory, desired);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
    await host.put('/opt/big', `${'x'.repeat((3 << 20) - 1)}y`);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toHaveLength(1);
    await applyTo(host.target, host.inventory, undefined);
    expect(await readdir(host.options.backups)).toHaveLength(1);
  });

  it('with a changed mode keep content and times', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/x': 'same' } }));
    const before = await lstat(host.at('/etc/x'));
    const stricter = packageOf({ files: { '/etc/x': { content: 'same', mode: '0600' } } });
    const { results } = await applyTo(host.target, host.inventory, stricter);
    expect(lines(results)).toEqual(['configured file:/etc/x: mode 0644 -> 0600']);
    const after = await lstat(host.at('/etc/x'));
    expect([after.mtimeMs, after.ino, after.mode & 0o777]).toEqual([before.mtimeMs, before.ino, 0o600]);
  });

  it('are removed with the package, together with folders it created, and nothing else', async () => {
    await using host = await sandbox();
    await host.put('/srv/there', 'before us');
    const before = await host.tree();
    const desired = packageOf({
      directories: { '/srv': { mode: '0711' } },
      files: { '/srv/a/b': '1', '/etc/c': '2' },
    });
    await applyTo(host.target, host.inventory, desired);
    expect(await host.tree()).not.toEqual(before);
    const { results } = await applyTo(host.target, host.inventory, undefined);
    expect(lines(results)).toEqual([
      'deleted file:/etc/c: no longer in the package',
      'deleted file:/srv/a/b: no longer in the package',
      'deleted parent:/srv/a: no longer in the package',
      'configured directory:/srv: mode and owner from before the package are restored',
    ]);
    expect(await host.tree()).toEqual(before);
    expect(host.inventory.owned).toEqual([]);
  });

  it('on removal keep a folder that only has files of other packages, without reporting it', async () => {
    await using host = await sandbox();
    const files = { '/opt/app/a': '1', '/opt/app/conf/b': '2' };
    await applyTo(host.target, host.inventory, packageOf({ files }));
    const taken = new Map([
      ['file:/opt/app/a', 'renamed'],
      ['file:/opt/app/conf/b', 'renamed'],
    ]);
    const { results } = await applyTo(host.target, host.inventory, undefined, taken);
    expect(results.map(({ outcome }) => outcome)).not.toContain('skipped');
    expect(results).toContainEqual(
      expect.objectContaining({ key: 'parent:/opt/app', reason: 'holds files of renamed' }),
    );
    expect(await host.read('/opt/app/a')).toBe('1');
  });

  it('on removal keep a folder with files of others', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/opt/app/a': '1' } }));
    await host.put('/opt/app/note', 'mine');
    const { results } = await applyTo(host.target, host.inventory, undefined);
    expect(lines(results)).toContain(
      'skipped parent:/opt/app: not empty: it holds what the package does not own',
    );
    expect(await host.read('/opt/app/note')).toBe('mine');
  });
});

describe("an original file at the path of a package's file", () => {
  it('is copied, replaced, kept across versions, and restored with its mode', async () => {
    await using host = await sandbox();
    await host.put('/etc/motd', 'hello', 0o640);
    const before = await host.tree();
    const first = await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/motd': 'v1' } }));
    expect(lines(first.results)[0]).toMatch(
      /^configured file:\/etc\/motd: content differs; mode 0640 -> 0644; it was there before the package; a copy is kept as [0-9a-f]{12}$/,
    );
    const copy = join(host.options.backups, hexOf(digestOf('hello')));
    expect(await readFile(copy, 'utf8')).toBe('hello');
    expect((await lstat(copy)).mode & 0o777).toBe(0o600);
    expect(host.inventory.owned[0]?.state).toMatchObject({
      replaced: { digest: digestOf('hello'), mode: 0o640, uid: process.getuid?.(), gid: process.getgid?.() },
    });
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/motd': 'v2' } }));
    const last = await applyTo(host.target, host.inventory, undefined);
    expect(lines(last.results)).toEqual([
      'configured file:/etc/motd: the state before the package is restored',
    ]);
    expect(await host.tree()).toEqual(before);
  });

  it('with the same content is taken over unchanged, and removed with the package', async () => {
    await using host = await sandbox();
    await host.put('/etc/motd', 'v1');
    const before = await lstat(host.at('/etc/motd'));
    const desired = packageOf({ files: { '/etc/motd': 'v1' } });
    const { results } = await applyTo(host.target, host.inventory, desired);
    expect(results.find(({ key }) => key === 'file:/etc/motd')).toMatchObject({
      outcome: 'unchanged',
      reason: 'taken over as it is',
    });
    expect((await lstat(host.at('/etc/motd'))).mtimeMs).toBe(before.mtimeMs);
    expect(lines((await applyTo(host.target, host.inventory, desired)).plan.steps)).toEqual([]);
    await applyTo(host.target, host.inventory, undefined);
    await expect(host.read('/etc/motd')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('with the same content stays when the first apply is rolled back', async () => {
    await using host = await sandbox();
    await host.put('/etc/motd', 'v1');
    const before = await host.tree();
    const files = { '/etc/motd': 'v1', '/etc/new': 'v1' };
    await applyTo(host.target, host.inventory, packageOf({ files }), new Map(), 1);
    await applyTo(
      host.target,
      host.inventory,
      packageOf({ files: { ...files, '/etc/motd': 'v2' } }),
      new Map(),
      1,
    );
    expect(await host.read('/etc/motd')).toBe('v2');
    const { results } = await applyTo(host.target, host.inventory, undefined);
    expect(lines(results)[0]).toBe('configured file:/etc/motd: the state before the package is restored');
    expect(await host.tree()).toEqual(before);
  });

  it('gets its mode back when only the mode differed', async () => {
    await using host = await sandbox();
    await host.put('/etc/x', 'same', 0o664);
    const before = await host.tree();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/x': 'same' } }));
    expect(await host.tree()).not.toEqual(before);
    await applyTo(host.target, host.inventory, undefined);
    expect(await host.tree()).toEqual(before);
  });

  it.each(['0644', '0600'])(
    'with the same content and another mode is copied even after a power cut before the first step (mode %s)',
    async (mode) => {
      await using host = await sandbox();
      await host.put('/etc/x', 'same', 0o640);
      const desired = packageOf({ files: { '/etc/x': { content: 'same', mode } } });
      await applyTo(host.target, host.inventory, desired, new Map(), 0);
      await applyTo(host.target, host.inventory, desired);
      await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/x': 'next' } }));
      await applyTo(host.target, host.inventory, undefined);
      expect(await host.tree()).toContain('etc/x file 640 same');
    },
  );

  it('keeps its folder when it is restored, as planned', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/opt/a': '1' } }));
    await host.put('/opt/b', 'theirs');
    await applyTo(host.target, host.inventory, packageOf({ files: { '/opt/a': '1', '/opt/b': 'ours' } }));
    const { plan } = await applyTo(host.target, host.inventory, undefined);
    expect(lines(plan.steps)).toContain(
      'skipped parent:/opt: not empty: it holds what the package does not own',
    );
    expect(await host.read('/opt/b')).toBe('theirs');
  });

  it('may be a symbolic link, which is replaced and restored, without touching its target', async () => {
    await using host = await sandbox();
    await host.put('/run/resolv', 'dynamic');
    await symlink('../run/resolv', host.at('/etc/resolv.conf'));
    const before = await host.tree();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/resolv.conf': 'static' } }));
    expect(await host.read('/etc/resolv.conf')).toBe('static');
    expect(await host.read('/run/resolv')).toBe('dynamic');
    await applyTo(host.target, host.inventory, undefined);
    expect(await readlink(host.at('/etc/resolv.conf'))).toBe('../run/resolv');
    expect(await host.tree()).toEqual(before);
  });

  it("without its copy is not restored, and the package's file is then not deleted", async () => {
    await using host = await sandbox();
    await host.put('/etc/motd', 'hello');
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/motd': 'v1' } }));
    await rm(host.options.backups, { recursive: true });
    await expect(applyTo(host.target, host.inventory, undefined)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: expect.stringContaining('/etc/motd'),
    });
    expect(await host.read('/etc/motd')).toBe('v1');
    // Nor is it forgotten by the next version.
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/motd': 'v2' } }));
    await expect(applyTo(host.target, host.inventory, undefined)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
    });
  });
});

describe('a locally changed file', () => {
  const v1 = packageOf({ files: { '/etc/x': 'v1' } });

  it.each([
    ['an upgrade', packageOf({ files: { '/etc/x': 'v2' } })],
    ['a correction', v1],
    ['a removal', undefined],
  ])('is copied before %s', async (_, next) => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, v1);
    await host.put('/etc/x', 'by hand');
    const { results } = await applyTo(host.target, host.inventory, next);
    expect(lines(results).join()).toMatch(
      /it was changed since it was written; a copy is kept as [0-9a-f]{12}/,
    );
    expect(await readdir(host.options.backups)).toEqual([hexOf(digestOf('by hand'))]);
  });

  it('is copied even if it changed between plan and execution', async () => {
    await using host = await sandbox();
    const plan = await host.target.plan(v1, [], new Map(), never);
    await host.put('/etc/x', 'just now');
    for (const step of plan.steps) await host.target.execute(step, v1, never);
    expect(await host.read('/etc/x')).toBe('v1');
    expect(await readdir(host.options.backups)).toEqual([hexOf(digestOf('just now'))]);
  });

  it('is not assumed after an incomplete plan', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, v1);
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/x': 'v2' } }), new Map(), 0);
    const { plan } = await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/x': 'v3' } }));
    expect(lines(plan.steps)).toEqual(['configured file:/etc/x: content differs']);
    await expect(readdir(host.options.backups)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a step that runs twice', () => {
  it('changes nothing the second time: no copy, no write, no result', async () => {
    await using host = await sandbox();
    await host.put('/etc/old', 'before');
    const desired = packageOf({ files: { '/etc/x': 'secret', '/etc/old': 'after' } });
    const plan = await host.target.plan(desired, [], new Map(), never);
    for (const step of plan.steps) await host.target.execute(step, desired, never);
    const { mtimeMs, ino } = await lstat(host.at('/etc/x'));
    for (const step of plan.steps) await host.target.execute(step, desired, never);
    expect(await lstat(host.at('/etc/x'))).toMatchObject({ mtimeMs, ino });
    expect(await readdir(host.options.backups)).toEqual([hexOf(digestOf('before'))]);
  });

  it('changes nothing the second time when it is a removal', async () => {
    await using host = await sandbox();
    await host.put('/etc/old', 'before');
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/old': 'after', '/opt/x': '1' } }));
    const plan = await host.target.plan(undefined, host.inventory.owned, new Map(), never);
    const run = async () => {
      for (const step of plan.steps) await host.target.execute(step, undefined, never);
      return host.tree();
    };
    expect(await run()).toEqual(await run());
    expect(await host.read('/etc/old')).toBe('before');
  });
});

describe('the temporary file of an interrupted write', () => {
  it.each([
    ['the same package', packageOf({ files: { '/etc/x': 'v1' } })],
    ['another version', packageOf({ files: { '/etc/x': 'v2' } })],
    ['the removal', undefined],
  ])('is removed by %s', async (_, next) => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/x': 'v1' } }));
    await writeFile(join(host.at('/etc'), temporaryName('x')), 'half');
    await writeFile(host.at('/etc/.fleet-of-ships'), 'not ours');
    await applyTo(host.target, host.inventory, next);
    const left = (await readdir(host.at('/etc'))).filter((name) => name.startsWith('.fleet-'));
    expect(left).toEqual(['.fleet-of-ships']);
  });

  it('does not keep its folder from being removed', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/cut/0/x': 'v1' } }));
    await writeFile(join(host.at('/etc/cut/0'), temporaryName('x')), 'half');
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/cut/1/x': 'v2' } }));
    expect(await readdir(host.at('/etc/cut'))).toEqual(['1']);
  });
});

describe('a symbolic link in the path of a file', () => {
  it('is followed inside of the root', async () => {
    await using host = await sandbox();
    await mkdir(host.at('/usr/lib'), { recursive: true });
    await symlink('usr/lib', host.at('/lib'));
    await applyTo(host.target, host.inventory, packageOf({ files: { '/lib/a/x': '1' } }));
    expect(await host.read('/usr/lib/a/x')).toBe('1');
    await applyTo(host.target, host.inventory, undefined);
    expect(await treeOf(host.at('/usr'))).toEqual([
      `lib directory ${process.umask() === 0o22 ? '755' : expect.any(String)}`,
    ]);
  });

  it.each([
    ['absolute', (folder: string) => join(folder, 'outside')],
    ['relative', () => '../../outside'],
  ])('out of the root is refused, and nothing is written there (%s)', async (_, link) => {
    await using host = await sandbox();
    await mkdir(join(host.folder, 'outside'));
    await symlink(link(host.folder), host.at('/etc/kiosk'));
    for (const spec of [{ files: { '/etc/kiosk/x': '1' } }, { directories: { '/etc/kiosk/x/y': {} } }])
      await expect(applyTo(host.target, host.inventory, packageOf(spec))).rejects.toMatchObject({
        code: 'APPLY_FAILED',
        message: expect.stringContaining('/etc/kiosk is a symbolic link that leads out of'),
      });
    expect(await readdir(join(host.folder, 'outside'))).toEqual([]);
  });

  it('that appears between plan and execution is refused', async () => {
    await using host = await sandbox();
    await mkdir(host.at('/etc/kiosk'));
    await mkdir(join(host.folder, 'outside'));
    const desired = packageOf({ files: { '/etc/kiosk/x': '1' } });
    const plan = await host.target.plan(desired, [], new Map(), never);
    await rm(host.at('/etc/kiosk'), { recursive: true });
    await symlink(join(host.folder, 'outside'), host.at('/etc/kiosk'));
    const file = plan.steps.find(({ key }) => key === 'file:/etc/kiosk/x');
    if (!file) throw new Error('no such step');
    await expect(host.target.execute(file, desired, never)).rejects.toMatchObject({ code: 'APPLY_FAILED' });
    expect(await readdir(join(host.folder, 'outside'))).toEqual([]);
  });

  it('to a missing target is refused', async () => {
    await using host = await sandbox();
    await symlink('gone', host.at('/etc/kiosk'));
    const desired = packageOf({ files: { '/etc/kiosk/x': '1' } });
    await expect(applyTo(host.target, host.inventory, desired)).rejects.toMatchObject({
      message: expect.stringContaining('leads nowhere'),
    });
  });
});

describe('an object of another type at the path of a file', () => {
  it.each([
    ['a folder where a file shall be', '/etc/kiosk/x', { files: { '/etc/kiosk': '1' } }],
    ['a file where a described folder shall be', '/etc/kiosk', { directories: { '/etc/kiosk': {} } }],
    ['a file where a parent shall be', '/etc/kiosk', { files: { '/etc/kiosk/x': '1' } }],
  ])('is not removed when it is foreign: %s', async (_, foreign, spec) => {
    await using host = await sandbox();
    await host.put(foreign, 'precious');
    await expect(applyTo(host.target, host.inventory, packageOf(spec))).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: expect.stringContaining('/etc/kiosk'),
    });
    expect(await host.read(foreign)).toBe('precious');
  });

  it('is replaced when it is our own from the version before', async () => {
    await using host = await sandbox();
    const asFile = packageOf({ files: { '/opt/a': 'file' } });
    const asFolder = packageOf({ files: { '/opt/a/b/c': 'below' }, directories: { '/opt/a/d': {} } });
    for (const desired of [asFile, asFolder, asFile, asFolder]) {
      await applyTo(host.target, host.inventory, desired);
      expect(lines((await applyTo(host.target, host.inventory, desired)).plan.steps)).toEqual([]);
    }
    expect(await host.read('/opt/a/b/c')).toBe('below');
  });
});

describe('claims', () => {
  it('of another assignment are refused: the error lists all of them', async () => {
    await using host = await sandbox();
    const desired = packageOf({
      files: { '/etc/x': '1', '/etc/y': '2' },
      directories: { '/srv': {} },
      units: [{ name: 'x.service' }],
    });
    const taken = new Map([
      ['file:/etc/x', 'till'],
      ['directory:/srv', 'scales'],
      ['unit:x.service', 'till'],
    ]);
    await expect(host.target.plan(desired, [], taken, never)).rejects.toMatchObject({
      code: 'PATH_CLAIMED',
      message:
        'kiosk wants what another assignment owns: /srv (of scales), /etc/x (of till), x.service (of till)',
    });
  });

  it('do not include parent folders: two packages may share one, which is removed with the last', async () => {
    await using host = await sandbox();
    const before = await host.tree();
    const till = { owned: [] };
    await applyTo(host.target, host.inventory, packageOf({ files: { '/opt/a/x': '1' } }));
    const others = () => new Map(host.inventory.owned.map(({ key }) => [key, 'kiosk']));
    const second = packageOf({
      assignment: 'till',
      directories: { '/opt/a': {} },
      files: { '/opt/a/y': '2' },
    });
    await applyTo(host.target, till, second, others());
    const tills = new Map(till.owned.map(({ key }) => [key, 'till']));
    await applyTo(host.target, host.inventory, undefined, tills);
    expect(await host.read('/opt/a/y')).toBe('2');
    await applyTo(host.target, till, undefined);
    expect(await host.tree()).not.toContain('opt/a/y file 644 2');
    expect((await host.tree()).filter((line) => !before.includes(line))).toEqual([
      'opt directory 755',
      'opt/a directory 755',
    ]);
  });

  it('that are passed on to another package are not deleted', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, packageOf({ files: { '/etc/x': '1' } }));
    const { plan } = await applyTo(
      host.target,
      host.inventory,
      undefined,
      new Map([['file:/etc/x', 'till']]),
    );
    expect(plan.steps.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual([
      'unchanged now belongs to till',
    ]);
    expect(await host.read('/etc/x')).toBe('1');
  });
});

describe('an invalid package', () => {
  it.each([
    ['lists a path twice', { files: { '/etc/x': '1' }, directories: { '/etc/x': {} } }, 'DUPLICATE'],
    ['has a file below a file', { files: { '/etc/x': '1', '/etc/x/y': '2' } }, 'BUNDLE_FORMAT'],
  ])('is refused when it %s', async (_, spec, code) => {
    await using host = await sandbox();
    await expect(host.target.plan(packageOf(spec), [], new Map(), never)).rejects.toMatchObject({ code });
  });

  it("is refused with missing bytes, or with another digest than package.json's", async () => {
    await using host = await sandbox();
    const good = packageOf({ files: { '/etc/x': '1' } });
    const swapped = { ...good, files: new Map([...good.files, ['files/0', Buffer.from('2')]]) };
    await expect(host.target.plan(swapped, [], new Map(), never)).rejects.toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    const without = { ...good, files: new Map([...good.files].filter(([path]) => path !== 'files/0')) };
    await expect(host.target.plan(without, [], new Map(), never)).rejects.toMatchObject({
      code: 'BUNDLE_FORMAT',
    });
  });
});

describe('the content of a file', () => {
  it('is in no plan, result, drift or inventory', async () => {
    await using host = await sandbox();
    await host.put('/etc/x', 'OLD-SECRET');
    const desired = packageOf({
      files: { '/etc/x': { content: 'PIN="NEW-SECRET"\n', format: 'env' } },
      siteInputs: [{ file: '/etc/x', pointer: '/TOKEN', value: 'SITE-SECRET' }],
    });
    const said = [await applyTo(host.target, host.inventory, desired), host.inventory];
    await host.put('/etc/x', 'DRIFT-SECRET');
    const drift = await host.target.observe(desired, host.inventory.owned, never);
    expect(drift).toHaveLength(1);
    const text = JSON.stringify([said, drift, await applyTo(host.target, host.inventory, desired)]);
    expect(text).not.toContain('SECRET');
  });
});
