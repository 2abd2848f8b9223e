import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addDays } from '#bundles/time';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { packTestBundle, rotateRoot, writeTestMedium } from '../../harness/fleets/signed-medium.ts';
import { copyOfWorld, endState } from '../crash-scenarios.ts';
import { createWorld, NOW, onePackage, openFast, SITE, testAgent, type World } from '../world.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';

const program = testProgramFile('test/agent/crash-acceptance.ts');
const run = promisify(execFile);

/** Everything that one transaction moves: documents, floors, time, revocations, what shall run, and the event. */
const TABLES = [
  'root',
  'statement',
  'site_values',
  'revoked',
  'bundle',
  'trust',
  'package',
  'outbox',
  'chain',
  'pull',
] as const;

let world: World;
let medium: string;
beforeAll(async () => {
  world = await createWorld();
  await world.release(1, [onePackage('app', 'one')]);
  const fleet = await rotateRoot(world.fleet, {});
  const bundle = packTestBundle(fleet, [onePackage('app', 'two'), onePackage('more', 'x')]);
  const release = {
    version: 2,
    bundle,
    revoked: [bundle.manifest.digest.replace(/.$/, '0') as typeof bundle.digest],
  };
  const agents = [{ name: 'kiosk-1', key: world.agent.identity.key }];
  medium = await writeTestMedium(join(world.folder, 'second'), fleet, {
    site: { site: SITE, version: 2, agents, values: { plant: 'oslo' } },
    release,
    lease: { version: 1, release, issuedAt: NOW, expires: addDays(NOW, 14) },
  });
  world.agent.state[Symbol.dispose]();
});
afterAll(() => world[Symbol.asyncDispose]());

const tablesOf = (folder: string): unknown => {
  using state = openFast(join(folder, 'state'));
  return [...TABLES.filter((table) => table !== 'pull'), 'condition', 'failed', 'owned', 'operation'].map(
    (table) => [table, state.db.prepare(`SELECT * FROM ${table}`).all()],
  );
};

const importApart = async (folder: string, where: string): Promise<string | null> => {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(world.folder, 'compiled') };
  try {
    await run(process.execPath, [program, folder, medium, where], { env });
    return null;
  } catch (error) {
    return (error as { signal: string | null }).signal;
  }
};

describe('an acceptance whose process is killed with SIGKILL', () => {
  it.each([...TABLES, 'committed'])(
    'at %s leaves the old state or the new, and the next import ends as an undisturbed one',
    async (where) => {
      const calm = copyOfWorld(world, `calm ${where}`);
      const killed = copyOfWorld(world, `killed ${where}`);
      const old = tablesOf(killed);
      {
        using state = openFast(join(calm, 'state'));
        await importMedium(testAgent(state, calm), medium);
      }
      // `pull` is written before the transaction too, and dying there is dying before it.
      expect(await importApart(killed, where)).toBe('SIGKILL');
      if (where === 'committed') expect(tablesOf(killed)).not.toEqual(old);
      else expect(tablesOf(killed)).toEqual(old);
      {
        using state = openFast(join(killed, 'state'));
        await importMedium(testAgent(state, killed), medium);
      }
      expect(await endState(killed)).toEqual(await endState(calm));
    },
    30_000,
  );
});
