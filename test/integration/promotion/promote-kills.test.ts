import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { LONG } from '../../harness/run/long.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Outcome, runCommand } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { chainedOffice, type ChainedOffice } from '../../scheduler/hub/promote/decide/chained-office.ts';
import { temporaryDirectory } from '../../scheduler/file-tree.ts';

const KILLER = fileURLToPath(new URL('../../scheduler/hub/promote/decide/kill-at-write.ts', import.meta.url));

const env = { ...process.env, FLEET_NOW: '2026-11-23T09:00:00Z' };

const wordsFor = ({ folder }: ChainedOffice, layout: string, person = 'ann'): readonly string[] => [
  'promote',
  'prod',
  `--platform=${join(folder, 'platform')}`,
  `--keys=${join(folder, 'keys')}`,
  `--cache=${join(folder, 'cache')}`,
  `--layout=${layout}`,
  `--person=${person}`,
];

/** The program as it is started. `killAt`: it is killed before this change of the layout, counted from 1. */
const promote = (
  office: ChainedOffice,
  layout: string,
  { person = 'ann', killAt = 0 } = {},
): Promise<Outcome> => {
  const killer = killAt > 0 ? ['--import', KILLER] : [];
  return runCommand(
    [process.execPath, ...killer, programFile('scheduler'), ...wordsFor(office, layout, person)],
    {
      cwd: office.folder,
      env: { ...env, FLEET_TEST_KILL_AT: String(killAt), FLEET_TEST_KILL_BELOW: layout },
    },
  );
};

const entriesOf = async (office: ChainedOffice, layout: string) => {
  const { roots } = await openKeyDirectory(join(office.folder, 'keys'));
  return (await readAuditLog(await openOrStartLayout(layout), roots)).entries;
};

test('promote that is killed at any change of the layout leaves a valid log, and the next one continues', async () => {
  const office = await chainedOffice();
  const copies = await temporaryDirectory();
  const found: number[] = [];
  for (let killAt = 1; ; killAt += LONG ? 1 : 5) {
    const layout = join(copies, String(killAt));
    await cp(office.layout, layout, { recursive: true });
    const killed = await promote(office, layout, { killAt });
    const entries = await entriesOf(office, layout);
    expect(entries.length, `killed before change ${killAt}`).toBeLessThanOrEqual(1);
    if (killed.code === 0) break;
    expect(killed.code, killed.stderr).not.toBe(1);
    found.push(entries.length);
    const again = await runScheduler(office.folder, wordsFor(office, layout), env);
    expect([again.code, again.stderr], `after change ${killAt}`).toEqual([0, expect.any(String)]);
    expect(await entriesOf(office, layout)).toHaveLength(1);
    const built = await office.build({ environments: ['prod'], layout });
    expect(built.environments[0]?.promoted).toMatchObject({ number: 1 });
  }
  // Blobs, then the index: the entry is in the log only after the last change.
  expect(found.length).toBeGreaterThan(5);
  expect(found[0]).toBe(0);
}, 600_000);

test('two promotes at the same time result in one promotion, which the other one finds', async () => {
  const office = await chainedOffice();
  const both = await Promise.all(['ann', 'ben'].map((person) => promote(office, office.layout, { person })));
  expect(both.map(({ code, stderr }) => [code, stderr.includes('GATE_CLOSED')])).toEqual([
    [0, false],
    [0, false],
  ]);
  expect(both.filter(({ stdout }) => stdout.includes('was promoted before, as number 1'))).toHaveLength(1);
  expect(await office.entries()).toHaveLength(1);
});
