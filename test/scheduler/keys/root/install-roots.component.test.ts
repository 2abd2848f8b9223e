import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { createRoot, parseRoot, signRoot, type TrustRoot } from '#bundles/trust/root/root';
import { initDevRoot } from '../../../../scheduler/keys/root/init-dev-root.ts';
import { installRoots } from '../../../../scheduler/keys/root/install-roots.ts';
import { rotateRoot } from '../../../../scheduler/keys/root/rotate-root.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { EXPIRES, makeRoot, NOW, rootInputOf } from './officers.ts';

const [ada, ben, cleo, dora] = [newKey(), newKey(), newKey(), newKey()];
const one = await makeRoot([ada, ben, cleo], [ada, ben]);
const two = await makeRoot([ben, cleo, dora], [ada, ben, dora], { version: 2 });

const withDirectory = async () => {
  const folder = await temporaryDirectory('install');
  const keys = join(folder.path, 'keys');
  const install = (roots: readonly (TrustRoot | Buffer)[], options = {}) =>
    installRoots(
      keys,
      roots.map((root, index) => ({
        file: `${index}.json`,
        bytes: 'version' in root ? root.bytes : root,
      })),
      { now: NOW, ...options },
    );
  return { keys, install, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

describe('installing roots', () => {
  it('writes the first root into an empty directory, and the next one after it', async () => {
    await using made = await withDirectory();
    expect((await made.install([one])).added).toHaveLength(1);
    expect((await made.install([two])).root.version).toBe(2);
    expect(await readdir(made.keys)).toEqual(['1.root.json', '2.root.json']);
    expect((await openKeyDirectory(made.keys)).root.digest).toBe(two.digest);
    expect((await made.install([one, two])).added).toEqual([]);
  });

  it('installs a whole chain at once, or nothing when one root is invalid', async () => {
    await using made = await withDirectory();
    const weak = await createRoot(rootInputOf([ben, cleo, dora], { version: 2 }), [ben, dora]);
    await expect(made.install([weak, one])).rejects.toMatchObject({
      code: 'ROOT_THRESHOLD_OLD',
      hint: expect.stringContaining('root verify'),
    });
    await expect(readdir(made.keys)).rejects.toThrow();
    expect((await made.install([two, one])).added.map(({ version }) => version)).toEqual([1, 2]);
  });

  it("refuses a draft, a later root alone, a version gap, another root of the same version, and another fleet's root", async () => {
    await using made = await withDirectory();
    const draft = await createRoot(rootInputOf([ada, ben, cleo]), [ada]);
    await expect(made.install([draft])).rejects.toMatchObject({
      code: 'ROOT_THRESHOLD_NEW',
      at: { file: '0.json' },
    });
    await expect(made.install([two])).rejects.toMatchObject({ code: 'ROOT_VERSION' });
    await made.install([one]);
    const three = await makeRoot([ben, cleo, dora], [ben, dora], { version: 3 });
    await expect(made.install([three])).rejects.toMatchObject({ code: 'ROOT_VERSION' });
    const other = await makeRoot([ada, ben, cleo], [ada, ben]);
    await expect(made.install([other])).rejects.toMatchObject({ code: 'EQUIVOCATION' });
    const foreign = await makeRoot([ada, ben, cleo], [ada, ben], { version: 2, fleet: 'other' });
    await expect(made.install([foreign])).rejects.toMatchObject({ code: 'ROOT_FLEET' });
    expect(await readdir(made.keys)).toEqual(['1.root.json']);
  });

  it('refuses other content for an installed version, and accepts the same content with one more signature', async () => {
    await using made = await withDirectory();
    await made.install([one, two]);
    const other = await makeRoot([ada, ben, cleo], [ada, ben]);
    await expect(made.install([other])).rejects.toMatchObject({
      code: 'EQUIVOCATION',
      subject: 'root 1',
      message: `${made.keys} has another root of this number`,
    });
    await expect(made.install([other, two])).rejects.toMatchObject({ code: 'EQUIVOCATION' });
    const signedAgain = parseRoot(await signRoot(one.bytes, [cleo]));
    expect((await made.install([signedAgain])).added).toEqual([]);
    expect((await openKeyDirectory(made.keys)).roots[0]?.digest).toBe(one.digest);
  });

  it('compares the first root with the given SHA-256', async () => {
    await using made = await withDirectory();
    await expect(made.install([one], { pinned: digestOf('another') })).rejects.toMatchObject({
      code: 'ROOT_UNKNOWN',
    });
    await made.install([one], { pinned: one.digest });
  });

  it('refuses an expired root', async () => {
    await using made = await withDirectory();
    const now = new Date('2029-01-01T00:00:00Z');
    await expect(made.install([one], { now })).rejects.toMatchObject({ code: 'ROOT_EXPIRED' });
  });

  it("replaces a development root by an officers' root, and never the reverse", async () => {
    await using made = await withDirectory();
    const dev = await initDevRoot(made.keys, 'acme', NOW);
    const owner = await (await openKeyDirectory(made.keys)).key('root');
    const officers = [ada, ben, cleo].map((key) => ({ role: 'root', key: key.public }) as const);
    const nothing = {
      remove: [],
      thresholds: {},
      addAuthorities: [],
      removeAuthorities: [],
      expires: EXPIRES,
    };
    const input = rotateRoot(dev, { ...nothing, add: officers });
    await expect(made.install([await createRoot(input, [ada, ben])])).rejects.toMatchObject({
      code: 'ROOT_THRESHOLD_OLD',
    });
    const { root } = await made.install([await createRoot(input, [owner, ada])]);
    expect([root.dev, root.roles.root.threshold]).toEqual([false, 2]);
    const back = await createRoot({ ...input, version: 3, dev: true }, [ada, ben]);
    await expect(made.install([back])).rejects.toMatchObject({ code: 'ROOT_FORMAT' });
  });
});
