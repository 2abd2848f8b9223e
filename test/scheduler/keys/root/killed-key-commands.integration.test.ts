import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fingerprint, loadSigningKey, parsePublicKey } from '#bundles/trust/keys/key';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { LONG } from '../../../harness/run/long.ts';
import { programFile } from '../../../harness/run/program-file.ts';
import { runCommand } from '../../../harness/run/run-command.ts';
import { runScheduler } from '../../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const KILLER = fileURLToPath(new URL('../../hub/promote/decide/kill-at-write.ts', import.meta.url));

/** Kills the command before its n-th change below the folder, for every `step`-th n, and calls `check` after each kill. */
const killAtEach = async (
  folder: string,
  words: readonly string[],
  step: number,
  check: (killAt: number) => Promise<void>,
): Promise<number> => {
  for (let killAt = 1; ; killAt += LONG ? 1 : step) {
    const { code, stderr } = await runCommand(
      [process.execPath, '--import', KILLER, programFile('scheduler'), ...words],
      {
        cwd: folder,
        env: { ...process.env, FLEET_TEST_KILL_AT: String(killAt), FLEET_TEST_KILL_BELOW: folder },
      },
    );
    if (code === 0) return killAt;
    expect(code, stderr).not.toBe(1);
    await check(killAt);
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
  }
};

it('a "root init --dev" that is killed at any change continues when it is repeated, with keys that the root counts', async () => {
  await using folder = await temporaryDirectory('killed-root');
  const keys = join(folder.path, 'keys');
  const words = ['root', 'init', '--dev', '--fleet', 'acme', '--keys', keys];
  const end = await killAtEach(folder.path, words, 6, async (killAt) => {
    const before = existsSync(join(keys, '1.root.json'));
    const { code, stderr } = await runScheduler(folder.path, words);
    expect([code, stderr.includes('ALREADY_ENROLLED')], `killed before change ${killAt}`).toEqual(
      before ? [expect.any(Number), true] : [0, false],
    );
    const opened = await openKeyDirectory(keys);
    for (const role of ['bundle', 'release', 'lease', 'receipt', 'audit'] as const) await opened.key(role);
    await opened.authority();
  });
  expect(end).toBeGreaterThan(20);
});

it('a "keys generate" that is killed at any change leaves no half of a key, and no public key alone', async () => {
  await using folder = await temporaryDirectory('killed-key');
  const file = join(folder.path, 'ada.key');
  const end = await killAtEach(folder.path, ['keys', 'generate', '--plain', '--out', file], 1, async () => {
    if (!existsSync(file)) expect(existsSync(join(folder.path, 'ada.pub'))).toBe(false);
    else {
      const key = loadSigningKey(await readFile(file, 'utf8'));
      const made = join(folder.path, 'again.pub');
      expect((await runScheduler(folder.path, ['keys', 'public', file, '--out', made])).code).toBe(0);
      expect(fingerprint(parsePublicKey(await readFile(made, 'utf8')))).toBe(fingerprint(key.public));
    }
  });
  expect(end).toBeGreaterThan(4);
});
