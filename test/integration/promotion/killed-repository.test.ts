import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noteUnfinishedWrites } from '../../../scheduler/hub/changes/note-write.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { NOW } from '../../scheduler/hub/test-hub.ts';
import { valuesHub } from '../../scheduler/hub/promote/values/values-hub.ts';

const PROGRAM = testProgramFile('test/scheduler/hub/promote/values/killed-repository.ts');
const KILLED = 128 + 9;

const after = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1000);

type Noted = {
  readonly change: string;
  readonly person: string;
  readonly reason: string;
  readonly new: { readonly commit: string | null; readonly set?: object; readonly end?: string };
};

test('a kill -9 at any point of a decision in a repository leaves one entry for each commit, with its person and reason', async () => {
  await using hub = await valuesHub();
  await mkdir(join(hub.path, 'files'));
  await writeFile(join(hub.path, 'files/a.yaml'), 'a: 1\n');
  const repository = join(hub.path, 'platform.git');
  await makeGitRepository(repository, { main: join(hub.path, 'files') });
  const run = (point: number, value: number) =>
    runCommand([process.execPath, PROGRAM, hub.path, `${point}`, NOW.toISOString(), `${value}`], {
      cwd: hub.path,
    });
  const noted = async (): Promise<readonly Noted[]> => {
    const rows = await hub.store.db.selectFrom('pending_change').selectAll().orderBy('number').execute();
    return rows
      .map(({ change }) => JSON.parse(change) as Noted)
      .filter(({ change }) => change === 'sites set in repository');
  };
  const commits = async (): Promise<readonly string[]> => {
    const { stdout } = await runOrFail(['git', '-C', repository, 'log', '--format=%H', 'main']);
    return stdout.trim().split('\n').slice(0, -1);
  };
  const whole = await run(-1, 1);
  const { point: points, commit } = JSON.parse(whole.stdout) as { point: number; commit: string };
  expect(points).toBe(6);
  expect(await commits()).toEqual([commit]);
  expect(await noted()).toMatchObject([{ person: 'ann', reason: 'new line', new: { commit } }]);

  for (let point = 0; point < points; point += 1) {
    const value = 10 + point;
    const [before, was] = [await noted(), await commits()];
    expect(await run(point, value)).toMatchObject({ code: KILLED });
    // Until then a hub that was not killed may still write.
    expect(await noteUnfinishedWrites(hub.store, after(800))).toBe(0);
    const since = await commits();
    const made = since.slice(0, since.length - was.length);
    const isNoted = (await noted()).length > before.length;
    await noteUnfinishedWrites(hub.store, after(900));
    await noteUnfinishedWrites(hub.store, after(900));
    const entries = (await noted()).slice(before.length);
    // Killed before the first commit of the database, nothing was decided; from then on there is one entry, and only one.
    expect(entries.length, `point ${point}`).toBe(point === 0 ? 0 : 1);
    expect(made.length, `point ${point}`).toBe(point < 3 ? 0 : 1);
    const [entry] = entries;
    if (!entry) continue;
    expect(entry).toMatchObject({ person: 'ann', reason: 'new line' });
    expect(entry.new).toMatchObject(
      isNoted ? { commit: made[0] } : { commit: null, end: 'unknown', set: { line: value } },
    );
  }
  // The person asks again for a value that the repository has: it is not written twice.
  const again = await run(-1, 13);
  expect(JSON.parse(again.stdout)).toMatchObject({ outcome: 'unchanged' });
});
