import { chmod, chown, copyFile, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { passwordsFrom } from '#bundles/trust/keys/passwords';
import { protectKey } from '#bundles/trust/keys/protect-key';
import { readKeyPlace } from '../../../../scheduler/keys/places/read-key-places.ts';
import { initDevRoot } from '../../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

const PASSWORD = 'correct horse';

/** One set of keys for all tests, and its release key under the password: scrypt takes its time. */
const makeKeys = async () => {
  await using folder = await temporaryDirectory('keys');
  await initDevRoot(folder.path, 'halden', NOW);
  const files = await Promise.all(
    (await readdir(folder.path)).map(async (name) => ({
      name,
      bytes: await readFile(join(folder.path, name)),
      mode: (await stat(join(folder.path, name))).mode,
    })),
  );
  const file = join(folder.path, 'release.key');
  return { files, locked: protectKey(await readFile(file, 'utf8'), PASSWORD, file) };
};
const { files, locked } = await makeKeys();

const withKeys = async (yaml?: string) => {
  const folder = await temporaryDirectory('keys');
  const at = (name: string) => join(folder.path, name);
  for (const { name, bytes, mode } of files) await writeFile(at(name), bytes, { mode });
  if (yaml !== undefined) await writeFile(at('keys.yaml'), yaml);
  return {
    at,
    path: folder.path,
    open: (env: NodeJS.ProcessEnv = {}) =>
      openKeyDirectory(folder.path, (file) => passwordsFrom({ file, env })),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

// Scrypt takes a fifth of a second, and more on a busy machine.
describe('a key directory', { timeout: 60_000 }, () => {
  it('opens without private keys, and reports a missing one when it is needed', async () => {
    await using made = await withKeys();
    for (const role of ['root', 'bundle', 'release', 'lease', 'receipt', 'audit', 'ca'])
      await rm(made.at(`${role}.key`));
    const directory = await made.open();
    expect(directory.root.version).toBe(1);
    await expect(directory.key('release')).rejects.toMatchObject({ code: 'KEY_MISSING' });
    await expect(directory.authority()).rejects.toMatchObject({ code: 'KEY_MISSING' });
  });

  it('decrypts a key with the password of the environment, once for concurrent callers', async () => {
    await using made = await withKeys();
    const file = made.at('release.key');
    const { public: plain } = await (await made.open()).key('release');
    await writeFile(file, locked);
    await expect((await made.open()).key('release')).rejects.toMatchObject({ code: 'KEY_LOCKED' });
    const directory = await made.open({ FLEET_KEY_PASSWORD: PASSWORD });
    const [one, two] = await Promise.all([directory.key('release'), directory.key('release')]);
    expect(one?.public.hint).toBe(plain.hint);
    expect(two).toBe(one);
    // What lies there now counts, also for a program that runs for months.
    await writeFile(file, locked.slice(0, -20));
    await expect(directory.key('release')).rejects.toMatchObject({ code: 'KEY_FORMAT' });
    await copyFile(made.at('bundle.key'), file);
    await expect(directory.key('release')).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
  });

  it('refuses a keys.yaml in a world-writable folder: PERMISSION', async () => {
    await using made = await withKeys('release: { file: elsewhere.key }\n');
    await chmod(made.path, 0o777);
    await expect(made.open()).rejects.toMatchObject({
      code: 'PERMISSION',
      message: `others can replace this file: they can write to ${made.path}`,
      at: { file: made.at('keys.yaml') },
    });
    // As /tmp is: what lies there is its owner's.
    await chmod(made.path, 0o1777);
    expect((await made.open()).root.version).toBe(1);
    await rm(made.at('keys.yaml'));
    await chmod(made.path, 0o777);
    expect((await made.open()).root.version).toBe(1);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'I12: a keys.yaml that another user put into a folder like /tmp',
    async () => {
      await using made = await withKeys('release: { file: elsewhere.key }\n');
      await chmod(made.path, 0o1777);
      await chown(made.at('keys.yaml'), 65_534, 65_534);
      await expect(made.open()).rejects.toMatchObject({
        code: 'PERMISSION',
        message: 'this file belongs to user 65534, who can change it',
        at: { file: made.at('keys.yaml') },
      });
      // Its owner can still change it there.
      await chmod(made.path, 0o755);
      await expect(made.open()).rejects.toMatchObject({ code: 'PERMISSION' });
      await chown(made.at('keys.yaml'), process.geteuid?.() ?? 0, 0);
      expect((await made.open()).root.version).toBe(1);
    },
  );

  it('reads keys from the files that keys.yaml names', async () => {
    await using made = await withKeys(
      'release: { file: elsewhere.key, passwordFile: secret }\nauthority: { file: office.key }\n',
    );
    await writeFile(made.at('elsewhere.key'), locked);
    await writeFile(made.at('secret'), `${PASSWORD}\n`, { mode: 0o600 });
    await rename(made.at('ca.key'), made.at('office.key'));
    await rm(made.at('release.key'));
    const directory = await made.open();
    const counted = directory.root.roles.release.keys.map(({ hint }) => hint);
    expect(counted).toEqual([(await directory.key('release')).public.hint]);
    expect((await directory.authority()).certificate).toBe(directory.root.agentCertificates[0]);
    await directory.key('bundle');
  });

  it.each([
    ['a role that is none', 'relase: { file: x }\n', /there is no key "relase" here/],
    ['two places for one key', 'release: { file: x, signer: y }\n', /release does not say where a key is/],
    ['a command without its public key', 'release: { command: [sign] }\n', /release does not say/],
    ['a command that is not a list', 'release: { command: sign it, public: x }\n', /release does not say/],
    ['something else', 'hello\n', /does not say where a key is/],
    ['broken YAML', 'release: {\n', /this is not YAML/],
  ])('refuses a keys.yaml with %s, with its position', async (_what, yaml, message) => {
    await using made = await withKeys(yaml);
    await expect(made.open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message),
      at: { file: made.at('keys.yaml'), line: expect.any(Number) },
    });
  });

  it('refuses a keys.yaml that other users can change, because it names commands to run', async () => {
    await using made = await withKeys('release: { file: x }\n');
    await chmod(made.at('keys.yaml'), 0o664);
    await expect(made.open()).rejects.toMatchObject({
      code: 'PERMISSION',
      at: { file: made.at('keys.yaml') },
    });
  });

  it('reports the missing public key of a command with its path', async () => {
    await using made = await withKeys('release: { command: [sign], public: release.pub }\n');
    await expect((await made.open()).key('release')).rejects.toThrow(
      `there is no public key at ${made.at('release.pub')}`,
    );
  });
});

describe('the --key of a command', () => {
  it('is a key file, or a YAML file that names a signing command', async () => {
    await using folder = await temporaryDirectory('token');
    const file = join(folder.path, 'token.yaml');
    await writeFile(file, 'command: [./sign, --slot, "1"]\npublic: ada.pub\ntimeoutSeconds: 5\n');
    expect(await readKeyPlace(file)).toEqual({
      kind: 'command',
      command: [join(folder.path, 'sign'), '--slot', '1'],
      publicFile: join(folder.path, 'ada.pub'),
      cwd: folder.path,
      timeoutMs: 5000,
    });
    expect(await readKeyPlace('/safe/ada.key')).toEqual({ kind: 'file', file: '/safe/ada.key' });
    await writeFile(file, 'key: ada\n');
    await expect(readKeyPlace(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID', at: { file } });
    await expect(readKeyPlace(join(folder.path, 'no.yaml'))).rejects.toMatchObject({ code: 'KEY_MISSING' });
  });
});
