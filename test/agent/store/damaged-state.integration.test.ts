import { closeSync, openSync, writeSync } from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { readIdentity } from '../../../agent/store/identity.ts';
import { openState, stateFile } from '../../../agent/store/state.ts';
import { createTestFleet, packTestBundle, writeTestMedium } from '../../harness/fleets/signed-medium.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const PAGE = 4096;

/** Overwrites the first page of a table, as a failing disk or an editor would. */
const damage = (file: string, table: string): void => {
  const db = new Database(file);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const page = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table) as number;
  db.close();
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(PAGE, 0x5a), 0, PAGE, (page - 1) * PAGE);
  closeSync(handle);
};

it('each command on a damaged database ends as STORE_CORRUPT with the way out, and not as a fault of the program', async () => {
  await using folder = await temporaryDirectory('damaged-state');
  const at = (...parts: readonly string[]): string => join(folder.path, ...parts);
  const env = {
    ...process.env,
    FLEET_NOW: '2026-11-21T08:00:00Z',
    FLEET_AGENT_STATE: at('state'),
    FLEET_AGENT_ROOT: at('root'),
    FLEET_AGENT_SERVICES: 'none',
  };
  const agent = (...words: readonly string[]) => runAgent(folder.path, words, env);
  await mkdir(at('root'));
  await mkdir(at('stick'));
  const fleet = await createTestFleet();
  const own = [
    '--fleet',
    'halden',
    '--site',
    'plant-7',
    '--name',
    'kiosk-1',
    '--channel',
    'prod/factory-host',
  ];
  expect(
    await agent(
      'enroll',
      ...own,
      '--root-sha256',
      hexOf(digestOf(fleet.roots[0] ?? Buffer.alloc(0))),
      at('stick'),
    ),
  ).toMatchObject({ code: 0 });
  const { key } = (() => {
    using state = openState(at('state'));
    return readIdentity(state);
  })();
  const medium = await writeTestMedium(at('full'), fleet, {
    site: { site: 'plant-7', version: 1, agents: [{ name: 'kiosk-1', key }] },
    release: { version: 1, bundle: packTestBundle(fleet, [{ id: 'app', files: { '/opt/app': 'one' } }]) },
  });
  expect(await agent('import', medium)).toMatchObject({ code: 0 });
  let refused = 0;
  await cp(at('state'), at('whole'), { recursive: true });
  for (const table of [
    'identity',
    'trust',
    'statement',
    'bundle',
    'package',
    'owned',
    'operation',
    'outbox',
    'condition',
  ]) {
    await rm(at('state'), { recursive: true });
    await cp(at('whole'), at('state'), { recursive: true });
    damage(stateFile(at('state')), table);
    for (const words of [['import', medium], ['import', medium, '--plan'], ['run', '--once'], ['status']]) {
      const { code, stderr } = await agent(...words);
      // A command that does not read the table does its work.
      if (code === 0 || code === 8) continue;
      refused += 1;
      expect([code, stderr], `${table}: ${words.join(' ')}`).toEqual([
        6,
        expect.stringMatching(
          /^fleet-agent: STORE_CORRUPT: .*database disk image is malformed\. Move the state directory away and enrol/,
        ),
      ]);
    }
  }
  expect(refused).toBeGreaterThan(18);
});
