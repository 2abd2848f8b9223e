import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { verdict } from '../../../bundles/verdict.ts';
import { LONG } from '../../../harness/run/long.ts';
import { programFile } from '../../../harness/run/program-file.ts';
import { runCommand } from '../../../harness/run/run-command.ts';
import { runScheduler } from '../../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const KILLER = fileURLToPath(new URL('../../hub/promote/decide/kill-at-write.ts', import.meta.url));

const done = async (folder: string, ...words: readonly string[]): Promise<void> => {
  const { code, stderr } = await runScheduler(folder, words);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
};

/** A folder with the keys of two officers and of the roles, root 1 that both signed, and an office that has it. */
const prepare = async (folder: string): Promise<void> => {
  for (const name of ['ada', 'ben', 'dora', 'bundle', 'release', 'lease', 'receipt', 'audit']) {
    const pem = generatePrivateKey();
    await writeFile(join(folder, `${name}.key`), pem, { mode: 0o600 });
    await writeFile(join(folder, `${name}.pub`), loadSigningKey(pem).public.pem);
  }
  const roles = ['bundle', 'release', 'lease', 'receipt', 'audit'].flatMap((role) => [
    `--${role}`,
    `${role}.pub`,
  ]);
  const officers = ['--officer', 'ada.pub', '--officer', 'ben.pub'];
  await done(folder, 'root', 'init', '--fleet', 'acme', ...officers, ...roles);
  for (const name of ['ada', 'ben'])
    await done(folder, 'root', 'sign', '1.root.json', '--key', `${name}.key`, '--yes');
  await mkdir(join(folder, 'keys'));
  await cp(join(folder, '1.root.json'), join(folder, 'keys', '1.root.json'));
};

/** The steps of the rotation. Their files are named in full, so that each change is below the folder. */
const stepsIn = (folder: string): readonly (readonly string[])[] => {
  const at = (name: string): string => join(folder, name);
  const swap = ['--remove', `officer=${at('ada.pub')}`, '--add', `officer=${at('dora.pub')}`];
  const draft = at('2.root.json');
  return [
    ['root', 'rotate', at('1.root.json'), ...swap, '--out', draft],
    ...['ada', 'ben', 'dora'].map((name) => ['root', 'sign', draft, '--key', at(`${name}.key`), '--yes']),
    ['root', 'install', draft, '--keys', at('keys')],
  ];
};
const STEPS = stepsIn('').length;

it('I20: a rotation of the root that is killed at any change of any step goes on, and what was signed before stays good', async () => {
  await using base = await temporaryDirectory('ceremony');
  const start = join(base.path, 'start');
  await mkdir(start);
  await prepare(start);
  let kills = 0;
  for (let at = 0; at < STEPS; at += 1) {
    for (let killAt = 1; ; killAt += LONG ? 1 : 5) {
      const folder = join(base.path, `step-${at}-${killAt}`);
      await cp(start, folder, { recursive: true });
      const steps = stepsIn(folder);
      const step = steps[at] ?? [];
      const argv = [process.execPath, '--import', KILLER, programFile('scheduler'), ...step];
      const { code, stderr } = await runCommand(argv, {
        cwd: folder,
        env: { ...process.env, FLEET_TEST_KILL_AT: String(killAt), FLEET_TEST_KILL_BELOW: folder },
      });
      if (code === 0) break;
      kills += 1;
      expect(code, stderr).not.toBe(1);
      // The office works with the root that it has, or with the new one; never with half of one.
      expect(await verdict(() => openKeyDirectory(join(folder, 'keys')))).toBe('ACCEPT');
      const between = await openKeyDirectory(join(folder, 'keys'));
      expect([1, 2]).toContain(between.root.version);
      // Each step is made again where it is needed, and the ceremony ends as without the kill.
      const drafted = (await readdir(folder)).includes('2.root.json');
      for (const again of drafted && at === 0 ? steps.slice(1) : steps.slice(at)) {
        const repeated = await runScheduler(folder, again);
        const said = repeated.stderr + repeated.stdout;
        expect([0, ...(again === step ? [2, 4, 5] : [])], said).toContain(repeated.code);
      }
      expect((await openKeyDirectory(join(folder, 'keys'))).root.version, `step ${at}, ${killAt}`).toBe(2);
    }
    await done(start, ...(stepsIn(start)[at] ?? []));
  }

  expect(kills).toBeGreaterThan(4);
});
