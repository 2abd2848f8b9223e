import { copyFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fingerprint, generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { createRoot } from '#bundles/trust/root/root';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { rootInput } from '../../../scheduler/keys/root/root-input.ts';
import { checkSigners, openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

const withKeys = async () => {
  const folder = await temporaryDirectory();
  const keys = join(folder.path, 'keys');
  await initDevRoot(keys, 'halden', NOW);
  return { keys, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

test('checkSigners accepts the keys that the root names', async () => {
  await using made = await withKeys();
  await checkSigners(await openKeyDirectory(made.keys), ['bundle', 'release']);
});

test('a key of another role is refused before it signs anything', async () => {
  await using made = await withKeys();
  await copyFile(join(made.keys, 'release.key'), join(made.keys, 'bundle.key'));
  await expect(checkSigners(await openKeyDirectory(made.keys), ['bundle', 'release'])).rejects.toMatchObject({
    code: 'UNKNOWN_KEY',
    message: 'root 1 of fleet halden does not count this bundle key',
  });
});

test.each(['root', 'bundle', 'release', 'lease', 'receipt', 'audit'] as const)(
  'a %s key that the root does not list is refused as UNKNOWN_KEY, with key and file in the error',
  async (role) => {
    await using made = await withKeys();
    const directory = await openKeyDirectory(made.keys);
    expect((await directory.key(role)).public.pem).toContain('PUBLIC KEY');
    const file = join(made.keys, `${role}.key`);
    const stranger = generatePrivateKey();
    await writeFile(file, stranger);
    await expect(directory.key(role)).rejects.toMatchObject({
      code: 'UNKNOWN_KEY',
      message: `root 1 of fleet halden does not count this ${role} key`,
      subject: fingerprint(loadSigningKey(stranger).public),
      at: { file },
    });
  },
);

test('roots that do not form a chain are refused when the directory is opened', async () => {
  await using made = await withKeys();
  const { key, root } = await openKeyDirectory(made.keys);
  const file = join(made.keys, '2.root.json');
  const next = { ...rootInput(root), version: 2 };
  const stranger = loadSigningKey(generatePrivateKey());
  const keys = { ...next.keys, root: [stranger.public] };
  await writeFile(file, await createRoot({ ...next, keys }, [stranger]));
  await expect(openKeyDirectory(made.keys)).rejects.toMatchObject({
    code: 'ROOT_THRESHOLD_OLD',
    subject: 'root 2',
    at: { file: made.keys },
  });
  await writeFile(file, await createRoot({ ...next, keys }, [stranger, await key('root')]));
  expect((await openKeyDirectory(made.keys)).root.version).toBe(2);
  await rename(file, join(made.keys, '3.root.json'));
  await expect(openKeyDirectory(made.keys)).rejects.toMatchObject({ code: 'ROOT_VERSION' });
});

test('a missing or invalid key is reported with its file', async () => {
  await using made = await withKeys();
  const file = join(made.keys, 'release.key');
  await writeFile(file, 'garbage');
  const directory = await openKeyDirectory(made.keys);
  await expect(checkSigners(directory, ['release'])).rejects.toMatchObject({
    code: 'KEY_FORMAT',
    at: { file },
  });
  await rm(file);
  await expect(checkSigners(directory, ['release'])).rejects.toMatchObject({
    code: 'KEY_MISSING',
    hint: expect.stringContaining('root rotate'),
  });
});

test('a directory without the audit key works, and reports it only when it is needed', async () => {
  await using made = await withKeys();
  const file = join(made.keys, 'audit.key');
  await rm(file);
  const directory = await openKeyDirectory(made.keys);
  await checkSigners(directory, ['bundle', 'release']);
  await expect(directory.key('audit')).rejects.toMatchObject({
    code: 'KEY_MISSING',
    message: `there is no audit key at ${file}`,
    hint: expect.stringContaining('--add audit=audit.pub'),
  });
});

test.each([
  ['is damaged', '1.root.json', 'BAD_JSON'],
  ['has the name of another version', '2.root.json', 'ROOT_VERSION'],
])('a root that %s is reported with its file', async (_, name, code) => {
  await using made = await withKeys();
  const file = join(made.keys, name);
  if (code === 'BAD_JSON') await writeFile(file, '{');
  else await copyFile(join(made.keys, '1.root.json'), file);
  await expect(openKeyDirectory(made.keys)).rejects.toMatchObject({ code, at: { file } });
});

test('a file is refused as a key directory', async () => {
  await using folder = await temporaryDirectory();
  const file = join(folder.path, 'keys');
  await writeFile(file, '');
  await expect(openKeyDirectory(file)).rejects.toMatchObject({ code: 'KEY_MISSING' });
  await expect(initDevRoot(file, 'halden', NOW)).rejects.toMatchObject({ code: 'IO' });
});
