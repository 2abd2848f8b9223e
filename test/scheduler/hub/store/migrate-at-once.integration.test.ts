import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../../../scheduler/hub/store/open-store.ts';
import { verdict } from '../../../bundles/verdict.ts';
import { LONG } from '../../../harness/run/long.ts';
import { runCommand } from '../../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const STORE = join(import.meta.dirname, '../../../../scheduler/hub/store/open-store.ts');

it('I21: commands that open a new database at the same moment, each of which would migrate it, all have it', async () => {
  await using folder = await temporaryDirectory('migrate');
  for (let round = 0; round < (LONG ? 10 : 1); round += 1) {
    // All of them wait for the same moment, so that they meet in the migrations.
    const program = `const { openStore } = await import(${JSON.stringify(STORE)});
      const at = Number(process.argv[1]);
      while (Date.now() < at);
      await using store = await openStore(process.argv[2], 'acme');
      console.log(store.fleet);`;
    const at = String(Date.now() + 2_000);
    const file = join(folder.path, `hub-${round}.db`);
    const argv = [process.execPath, '--input-type=module', '--eval', program, at, file];
    const runs = await Promise.all(Array.from({ length: 4 }, () => runCommand(argv)));
    expect(runs.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual(
      runs.map(() => [0, 'acme\n', '']),
    );
    const again = async () => {
      await using _ = await openStore(file, 'acme');
    };
    expect(await verdict(again)).toBe('ACCEPT');
  }
});

it('I21: a migration that is killed between two of its statements is made again by the next start', async () => {
  await using folder = await temporaryDirectory('migrate');
  const file = join(folder.path, 'hub.db');
  const open = (up: string) =>
    runCommand([
      process.execPath,
      '--input-type=module',
      '--eval',
      `const { openStore } = await import(${JSON.stringify(STORE)});
      const { MIGRATIONS } = await import(${JSON.stringify(join(dirname(STORE), 'migrations.ts'))});
      const next = { up: async (db) => {
        await db.schema.createTable('next').addColumn('id', 'text').execute();
        ${up}
        await db.schema.alterTable('agent').addColumn('next', 'text').execute();
      } };
      await using store = await openStore(${JSON.stringify(file)}, 'acme', { migrations: { ...MIGRATIONS, '9000-next': next } });
      console.log(store.fleet);`,
    ]);
  expect(await open("process.kill(process.pid, 'SIGKILL');")).toMatchObject({ code: 137 });
  expect(await open('')).toMatchObject({ code: 0, stdout: 'acme\n', stderr: '' });
});
