import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { toFleetError } from '#bundles/errors';
import { backUp } from '../../../scheduler/hub/upkeep/backup/backup.ts';
import { LONG } from '../../harness/run/long.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { hubOf } from '../../scheduler/hub/office-agents.ts';
import { chainedOffice, changeShared } from '../../scheduler/hub/promote/decide/chained-office.ts';
import { NOW } from '../../scheduler/release/removals/office.ts';

const KILLER = fileURLToPath(new URL('../../scheduler/hub/promote/decide/kill-at-write.ts', import.meta.url));

const { signal } = new AbortController();
const later = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const env = { ...process.env, FLEET_NOW: later(10).toISOString() };

/** The backup has release 1, and each second since may have made one more. */
const NEXT = `released ${1 + 9 * 60 + 1},empty 0`;

/** An office that was backed up at its first release of qa, and made the second one afterwards. */
const backedUp = async () => {
  const office = await chainedOffice();
  const backup = join(office.folder, 'backup');
  {
    const keys = await openKeyDirectory(join(office.folder, 'keys'));
    await using hub = await hubOf({ ...office, keys });
    await backUp(hub, join(office.folder, 'hub.db'), backup, { now: later(1), signal });
  }
  await changeShared(office, later(2));
  await office.edit('apps/labels/host/package.yaml', (text) => text.replace('/two', '/three'));
  const home = join(office.folder, 'home');
  const layout = join(home, 'layout');
  const words = [
    'restore',
    backup,
    `--keys=${join(office.folder, 'keys')}`,
    `--layout=${layout}`,
    `--db=${join(home, 'hub.db')}`,
  ];
  /** The number of the next release of qa, or why there is none. */
  const build = async (): Promise<string> => {
    try {
      const { channels } = await office.build({ environments: ['qa'], layout, now: later(11) });
      return channels.map(({ outcome, version }) => `${outcome} ${version}`).join();
    } catch (error) {
      return toFleetError(error).code;
    }
  };
  return { office, home, layout, words, build };
};

test('I16: a restore that is killed at any change, or cannot ask the registry, keeps builds away, and continues -> LAYOUT_INVALID', async () => {
  const { office, home, layout, words, build } = await backedUp();
  const restore = (more: readonly string[] = []) => runScheduler(office.folder, [...words, ...more], env);
  const answers: string[] = [];
  for (let killAt = LONG ? 1 : 7; ; killAt += LONG ? 1 : 12) {
    await rm(home, { recursive: true, force: true });
    const killed = await runCommand(
      [process.execPath, '--import', KILLER, programFile('scheduler'), ...words],
      {
        cwd: office.folder,
        env: { ...env, FLEET_TEST_KILL_AT: String(killAt), FLEET_TEST_KILL_BELOW: home },
      },
    );
    if (killed.code === 0) break;
    // Before its first file it has not begun.
    if (existsSync(join(layout, 'fleet-scheduler-restore.json'))) answers.push(await build());
    else expect(existsSync(join(layout, 'index.json'))).toBe(false);
    const again = await restore();
    expect([again.code, again.stderr], `after change ${killAt}`).toEqual([0, expect.any(String)]);
    expect(await build(), `after change ${killAt}`).toBe(NEXT);
  }
  expect(answers.length).toBeGreaterThan(3);
  await rm(home, { recursive: true, force: true });
  const unreachable = await restore(['--registry', 'oci://127.0.0.1:1/fleet']);
  expect(unreachable.stderr).toContain('REGISTRY_UNREACHABLE');
  answers.push(await build());
  const serve = await runScheduler(office.folder, ['sites', 'list', ...words.slice(2)], env);
  expect(serve.stderr).toMatch(/LAYOUT_INVALID: .*Run it again: fleet-scheduler restore .*backup/);
  expect((await restore()).code).toBe(0);
  expect(await build()).toBe(NEXT);
  expect([...new Set(answers)]).toEqual(['LAYOUT_INVALID']);
}, 600_000);
