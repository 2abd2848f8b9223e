import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { DesiredPackage } from '../../../../agent/model/target.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { applyTo, lines, never, type PackageSpec, packageOf, sandbox } from './sandbox.ts';

const PATH = '/opt/models/model.bin';
const ONE = Buffer.alloc(1_200_000, 'one');
const TWO = Buffer.alloc(1_200_000, 'two');

const storeOf = (...blobs: readonly Buffer[]): BlobSource => ({
  name: 'the store',
  size: async (digest) => blobs.find((bytes) => digestOf(bytes) === digest)?.length,
  open: async (digest) => {
    const bytes = blobs.find((one) => digestOf(one) === digest) ?? Buffer.alloc(0);
    return (async function* inPieces() {
      for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.subarray(at, at + (1 << 20));
    })();
  },
});

/** A package with one file at PATH that is a blob. */
const carrying = (bytes: Buffer, blobs = storeOf(bytes), spec: PackageSpec = {}): DesiredPackage => {
  const desired = packageOf(spec);
  const document = JSON.parse(desired.files.get('package.json')?.toString() ?? '{}') as { files: object[] };
  const file = { path: PATH, mode: '0640', owner: 'root', group: 'root', blob: true };
  const described = { ...file, digest: digestOf(bytes), size: bytes.length };
  const json = Buffer.from(
    JSON.stringify({ ...document, files: [...document.files, described], critical: ['blobs'] }),
  );
  return {
    ...desired,
    package: digestOf(json),
    files: new Map([...desired.files, ['package.json', json]]),
    blobs,
  };
};

/** A store with files, as the agent has one. */
const storeAt = async (folder: string, ...blobs: readonly Buffer[]): Promise<BlobSource> => {
  const store = openBlobDirectory(folder);
  for (const bytes of blobs) await store.write(digestOf(bytes), bytes.length, bytes);
  return store;
};

describe('a file that is a blob of a store with files', () => {
  test('is copied by the kernel with its own mode, from a blob that no other user may read', async () => {
    await using host = await sandbox({ isRoot: false });
    await using folder = await temporaryDirectory('store');
    const store = await storeAt(folder.path, ONE, TWO);
    const desired = (bytes: Buffer) =>
      carrying(bytes, { ...store, open: () => Promise.reject(new Error('streamed')) });
    await applyTo(host.target, host.inventory, desired(ONE));
    expect((await host.tree()).find((line) => line.startsWith(PATH.slice(1)))).toContain(' file 640 ');
    expect(await host.read(PATH)).toBe(ONE.toString());
    expect((await stat(store.path?.(digestOf(ONE)) ?? '')).mode & 0o777).toBe(0o600);
    const again = await applyTo(host.target, host.inventory, desired(ONE));
    expect(lines(again.results).filter((line) => !line.includes('not root'))).toEqual([]);
    await applyTo(host.target, host.inventory, desired(TWO));
    expect(await host.read(PATH)).toBe(TWO.toString());
    // An edit in place reaches the copy alone.
    await writeFile(host.at(PATH), 'edited');
    expect(await readFile(store.path?.(digestOf(TWO)) ?? '', 'utf8')).toBe(TWO.toString());
  });

  test.each([
    ['other bytes', Buffer.alloc(1_200_000, 'two '), 'DIGEST_MISMATCH'],
    ['fewer bytes', Buffer.alloc(1_100_000, 'two'), 'SIZE_MISMATCH'],
    ['more bytes', Buffer.alloc(1_300_000, 'two'), 'SIZE_MISMATCH'],
  ])('that has %s than its name says never gets the name of the file', async (_, bytes, code) => {
    await using host = await sandbox({ isRoot: false });
    await using folder = await temporaryDirectory('store');
    const store = await storeAt(folder.path, ONE, TWO);
    await applyTo(host.target, host.inventory, carrying(ONE, store));
    await writeFile(store.path?.(digestOf(TWO)) ?? '', bytes);
    await expect(applyTo(host.target, host.inventory, carrying(TWO, store))).rejects.toMatchObject({ code });
    expect(await host.read(PATH)).toBe(ONE.toString());
    expect(await readdir(host.at('/opt/models'))).toEqual(['model.bin']);
  });
});

describe('a file that is a blob', () => {
  test('is written with its mode, unchanged by a second apply, replaced by an update, and removed', async () => {
    await using host = await sandbox({ isRoot: false });
    await applyTo(host.target, host.inventory, carrying(ONE));
    expect((await host.tree()).find((line) => line.startsWith(PATH.slice(1)))).toContain(' file 640 ');
    expect(await host.read(PATH)).toBe(ONE.toString());
    const again = await applyTo(host.target, host.inventory, carrying(ONE));
    expect(lines(again.results).filter((line) => !line.includes('not root'))).toEqual([]);
    await applyTo(host.target, host.inventory, carrying(TWO));
    expect(await host.read(PATH)).toBe(TWO.toString());
    await applyTo(host.target, host.inventory, undefined);
    expect((await host.tree()).filter((line) => line.startsWith('opt'))).toEqual([]);
  });

  test('a blob with a wrong digest never gets its final name, and the existing file stays', async () => {
    await using host = await sandbox({ isRoot: false });
    await applyTo(host.target, host.inventory, carrying(ONE));
    const damaged = Buffer.from(TWO);
    damaged[5] = 0;
    const lying: BlobSource = { ...storeOf(), open: () => storeOf(damaged).open(digestOf(damaged)) };
    await expect(applyTo(host.target, host.inventory, carrying(TWO, lying))).rejects.toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    expect(await host.read(PATH)).toBe(ONE.toString());
    expect(await readdir(host.at('/opt/models'))).toEqual(['model.bin']);
  });

  test('has drifted when one byte was changed', async () => {
    await using host = await sandbox({ isRoot: false });
    const desired = carrying(ONE);
    await applyTo(host.target, host.inventory, desired);
    const observe = () => host.target.observe(desired, host.inventory.owned, never);
    expect(await observe()).toEqual([]);
    const changed = Buffer.from(ONE);
    changed[1_100_000] = 0;
    await host.put(PATH, changed.toString('latin1'), 0o640);
    expect(await observe()).toMatchObject([{ key: `file:${PATH}`, what: 'content' }]);
  });

  test('restores the original file on removal', async () => {
    await using host = await sandbox({ isRoot: false });
    await host.put(PATH, 'somebody’s own', 0o600);
    await applyTo(host.target, host.inventory, carrying(ONE));
    await applyTo(host.target, host.inventory, undefined);
    expect(await host.read(PATH)).toBe('somebody’s own');
  });

  test("accepts no site values, and must be listed in the bundle's blobs", async () => {
    await using host = await sandbox({ isRoot: false });
    const plan = (desired: DesiredPackage) => host.target.plan(desired, [], new Map(), never);
    const siteInputs = [{ file: PATH, pointer: '/X', value: 'y' }];
    await expect(plan(carrying(ONE, storeOf(ONE), { siteInputs }))).rejects.toMatchObject({
      code: 'SITE_VALUES',
    });
    const { blobs: _, ...without } = carrying(ONE);
    await expect(plan(without)).rejects.toMatchObject({ code: 'BUNDLE_FORMAT' });
  });
});
