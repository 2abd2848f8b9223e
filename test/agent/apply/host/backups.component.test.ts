import { chown, lstat, open, readdir, readFile, stat, truncate, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { applyTo, lines, never, packageOf, sandbox } from './sandbox.ts';

const MIB = 1 << 20;
const TIB = 1024 ** 4;
const LIMIT = 8 * MIB;

type Host = Awaited<ReturnType<typeof sandbox>>;

const small = () => sandbox({ maxBackupBytes: LIMIT });
const v1 = packageOf({ files: { '/opt/app/data': 'v1' } });

/** A file with `size` bytes of which none takes room but the last. */
const putSparse = async (host: Host, path: string, size: number, last = 'x') => {
  await host.put(path, '');
  await using file = await open(host.at(path), 'r+');
  await file.write(last, size - 1);
};

/** Made by another user, where tests may do that: root's own files count as an administrator's. */
const byMallory = process.getuid?.() === 0;

const copiesOf = async ({ options }: Host): Promise<{ readonly size: number; readonly blocks: number }[]> => {
  const names = await readdir(options.backups).catch(() => []);
  return await Promise.all(
    names.filter((name) => /^[0-9a-f]{64}$/.test(name)).map((name) => stat(join(options.backups, name))),
  );
};

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ACCEPT',
    ({ code }: { code: string }) => code,
  );

describe('copies of locally changed files', () => {
  it('L6: have a bound together, are made once, and take no more room than the file -> ACCEPT', async () => {
    await using host = await small();
    await applyTo(host.target, host.inventory, v1);
    for (const last of ['a', 'b', 'b', 'c']) {
      await putSparse(host, '/opt/app/data', 5 * MIB, last);
      expect(await codeOf(applyTo(host.target, host.inventory, v1))).toBe('ACCEPT');
    }
    const copies = await copiesOf(host);
    expect(copies.map(({ size }) => size)).toEqual([5 * MIB]);
    expect(copies[0]?.blocks).toBeLessThan((2 * MIB) / 512);
  });

  it('L6: are not made of a file that does not fit, and the result says so -> ACCEPT', async () => {
    await using host = await small();
    await applyTo(host.target, host.inventory, v1);
    await putSparse(host, '/opt/app/data', LIMIT + 1);
    const { results } = await applyTo(host.target, host.inventory, v1);
    expect(lines(results)).toEqual([
      'configured file:/opt/app/data: content differs; it was changed since it was written; no copy is kept: ' +
        'its 8.00 MiB do not fit into the 8.00 MiB for copies (replacedMib)',
    ]);
    expect(await copiesOf(host)).toEqual([]);
    expect(await codeOf(applyTo(host.target, host.inventory, undefined))).toBe('ACCEPT');
  });

  it('are deleted oldest first above the limit, except originals that a package restores', async () => {
    await using host = await small();
    const desired = packageOf({ files: { '/etc/a': 'ours', '/opt/app/data': 'v1' } });
    await putSparse(host, '/etc/a', 2 * MIB, 'before');
    await applyTo(host.target, host.inventory, desired);
    for (const [index, last] of ['one', 'two', 'three'].entries()) {
      await putSparse(host, '/opt/app/data', 2 * MIB, last);
      await applyTo(host.target, host.inventory, desired);
      for (const name of await readdir(host.options.backups))
        if ((await readFile(join(host.options.backups, name), 'utf8')).endsWith(last))
          await utimes(join(host.options.backups, name), index, index);
    }
    await putSparse(host, '/opt/app/data', 2 * MIB, 'four');
    await applyTo(host.target, host.inventory, desired);
    const kept = await Promise.all(
      (await readdir(host.options.backups)).map((name) =>
        readFile(join(host.options.backups, name), 'utf8').then((text) => text.replaceAll('\0', '')),
      ),
    );
    expect(kept.toSorted()).toEqual(['before', 'four', 'three']);

    expect(await host.target.pruneCopies?.('too many')).toEqual({ files: 0, bytes: 0 });
    expect(await host.target.pruneCopies?.('all')).toMatchObject({ files: 2 });
    expect(await copiesOf(host)).toHaveLength(1);
    await applyTo(host.target, host.inventory, undefined);
    expect((await host.read('/etc/a')).endsWith('before')).toBe(true);
  });

  it('of an earlier agent are reduced to the limit', async () => {
    await using host = await small();
    await applyTo(host.target, host.inventory, v1);
    for (const last of ['a', 'b', 'c']) {
      await putSparse(host, '/opt/app/data', 2 * MIB, last);
      await applyTo(host.target, host.inventory, v1);
    }
    const later = await sandbox({ backups: host.options.backups, maxBackupBytes: 5 * MIB });
    expect(await later.target.pruneCopies?.('too many')).toMatchObject({ files: 1 });
    await later[Symbol.asyncDispose]();
  });
});

describe('an original file above the limit for copies', () => {
  it('is not replaced by the package', async () => {
    await using host = await small();
    await putSparse(host, '/opt/app/data', LIMIT + 1);
    await expect(applyTo(host.target, host.inventory, v1)).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message:
        '/opt/app/data was there before the package, and its 8.00 MiB do not fit into the 8.00 MiB for copies of replaced files',
    });
    expect((await lstat(host.at('/opt/app/data'))).size).toBe(LIMIT + 1);
  });

  it("is taken over when it equals the package's file", async () => {
    await using host = await sandbox({ maxBackupBytes: 1 });
    await host.put('/opt/app/data', 'v1');
    const { results } = await applyTo(host.target, host.inventory, v1);
    expect(results.at(-1)).toMatchObject({ outcome: 'unchanged', reason: 'taken over as it is' });
    await applyTo(host.target, host.inventory, undefined);
    expect(await host.tree()).not.toContain('opt/app/data file 644 v1');
  });

  it.skipIf(!byMallory)('of another user is replaced, and nothing is put back', async () => {
    await using host = await small();
    await putSparse(host, '/opt/app/data', LIMIT + 1);
    await chown(host.at('/opt/app/data'), 1234, 1234);
    const { results } = await applyTo(host.target, host.inventory, v1);
    expect(lines(results).at(-1)).toContain('no copy is kept: its 8.00 MiB');
    expect(await host.read('/opt/app/data')).toBe('v1');
    await applyTo(host.target, host.inventory, undefined);
    await expect(lstat(host.at('/opt/app/data'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('that changed between plan and execution is restored in its changed state', async () => {
    await using host = await small();
    await host.put('/opt/app/data', 'planned');
    const plan = await host.target.plan(v1, [], new Map(), never);
    await host.put('/opt/app/data', 'just now');
    host.inventory.owned = plan.owns;
    const file = plan.steps.find(({ key }) => key === 'file:/opt/app/data');
    if (!file) throw new Error('no such step');
    const { state } = await host.target.execute(file, v1, never);
    host.inventory.owned = plan.owns.map((object) =>
      object.key === file.key ? { ...object, state: { ...object.state, ...state } } : object,
    );
    await applyTo(host.target, host.inventory, undefined);
    expect(await host.read('/opt/app/data')).toBe('just now');
  });
});

describe("a file of another size than the package's", () => {
  it('L7: of a tebibyte in the place of one of the package is not read -> ACCEPT', async () => {
    await using host = await small();
    await applyTo(host.target, host.inventory, v1);
    await truncate(host.at('/opt/app/data'), TIB);
    const drift = await host.target.observe(v1, host.inventory.owned, never);
    expect(drift.map(({ what }) => what)).toEqual(['content']);
    expect(await codeOf(applyTo(host.target, host.inventory, v1))).toBe('ACCEPT');
    expect(await host.read('/opt/app/data')).toBe('v1');
    expect(await copiesOf(host)).toEqual([]);
  });

  it('L7: that has to be read is read no further than to the signal -> ABORTED', async () => {
    await using host = await sandbox({ maxBackupBytes: 2 * TIB });
    await applyTo(host.target, host.inventory, v1);
    await truncate(host.at('/opt/app/data'), TIB);
    const { owned } = host.inventory;
    const stop = AbortSignal.timeout(50);
    expect(await codeOf(host.target.plan(v1, owned, new Map(), stop))).toBe('ABORTED');
  });
});
