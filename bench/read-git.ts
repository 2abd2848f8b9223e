/**
 * `npm run bench read-git`: folders of applications that a build reads, from one Git repository and from one repository each,
 * against the same from directories and against `git clone`. FLEET_BENCH_FOLDERS (200), FLEET_BENCH_FILES (5) in each,
 * FLEET_BENCH_ROUNDS (3), FLEET_BENCH_BEFORE: another checkout of this repository to compare with.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { commitFolder, makeGitRepository } from '../test/harness/neighbours/git-repository.ts';
import { runOrFail } from '../test/harness/run/run-command.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { type Measured, measure, medianOf } from './measure.ts';
import type { Task } from './read-git/read-folders.ts';
import { figure, formatTable } from './table.ts';

const setting = (name: string, value: number): number => Number(process.env[`FLEET_BENCH_${name}`] ?? value);
const [FOLDERS, FILES, ROUNDS] = [setting('FOLDERS', 200), setting('FILES', 5), setting('ROUNDS', 3)];
const OWN = join(import.meta.dirname, '..');
const CODES = [
  { code: OWN, name: 'this', width: 64 },
  ...[process.env.FLEET_BENCH_BEFORE].flatMap((code) =>
    code === undefined ? [] : [{ code, name: 'before', width: 8 }],
  ),
];

type Folders = Task['folders'];
type Row = readonly string[];

await using space = await temporaryDirectory('bench-read-git');

const fill = async (directory: string, name: string): Promise<void> => {
  for (let file = 0; file < FILES; file += 1) {
    const path = join(directory, `file-${file}.yaml`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `name: ${name}\nfile: ${file}\n${'# filled\n'.repeat(100)}`);
  }
};

const names = Array.from({ length: FOLDERS }, (_, at) => `app-${at}`);
const together = join(space.path, 'together');
for (const name of names) await fill(join(together, 'apps', name), name);
const one = join(space.path, 'one.git');
await makeGitRepository(one, { main: together });
await runOrFail(['git', '-C', one, 'config', 'uploadpack.allowFilter', 'true']);
for (const name of names) {
  const repository = join(space.path, 'each', `${name}.git`);
  await makeGitRepository(repository, { main: join(together, 'apps', name) });
  await runOrFail(['git', '-C', repository, 'config', 'uploadpack.allowFilter', 'true']);
}

const PLACES: readonly { readonly name: string; readonly folders: Folders; readonly clone: string }[] = [
  {
    name: 'one repository',
    folders: names.map((name) => ({ repo: `file://${one}`, path: `apps/${name}` })),
    clone: `git clone -q 'file://${one}' "$0/clone"`,
  },
  {
    name: 'a repository each',
    folders: names.map((name) => ({ repo: `file://${join(space.path, 'each', `${name}.git`)}`, path: '.' })),
    clone: `for r in '${join(space.path, 'each')}'/*.git; do git clone -q "file://$r" "$0/$(basename "$r")"; done`,
  },
];

const read = async (task: Omit<Task, 'cacheDirectory'>, cacheDirectory: string): Promise<Measured> =>
  await measure(
    [
      process.execPath,
      join(import.meta.dirname, 'read-git/read-folders.ts'),
      JSON.stringify({ ...task, cacheDirectory }),
    ],
    {
      env: { NODE_COMPILE_CACHE: join(space.path, 'code') },
    },
  );

let revision = 0;
const changeOne = async (): Promise<void> => {
  revision += 1;
  await writeFile(join(together, 'apps/app-0/file-0.yaml'), `revision: ${revision}\n`);
  await commitFolder(one, 'main', together);
  await commitFolder(join(space.path, 'each/app-0.git'), 'main', join(together, 'apps/app-0'));
};

const rounds = async (run: () => Promise<Measured>): Promise<Omit<Measured, 'stdout'>> => {
  const runs: Measured[] = [];
  for (let round = 0; round < ROUNDS; round += 1) runs.push(await run());
  return medianOf(runs);
};

const rows: Row[] = [];
const add = (
  place: string,
  what: string,
  { cpuSeconds, wallSeconds }: Omit<Measured, 'stdout'>,
  base: number,
): void => {
  rows.push([place, what, figure(cpuSeconds), figure(wallSeconds), `${figure(cpuSeconds / base)}x`]);
};

const cache = join(space.path, 'cache');
const MAPPED = 'https://git.example/together';
const maps = [{ repo: MAPPED, directory: together }];
const directories = names.map((name) => ({ repo: MAPPED, path: `apps/${name}` }));
for (const { name, folders, clone } of PLACES) {
  const plain = await rounds(() => read({ code: OWN, maps, folders: directories, width: 64 }, cache));
  add(name, 'from directories', plain, plain.cpuSeconds);
  const target = join(space.path, 'clones');
  const cloned = await rounds(async () => {
    await rm(target, { recursive: true, force: true });
    await mkdir(target);
    return await measure(['sh', '-c', clone, target]);
  });
  add(name, 'git clone', cloned, plain.cpuSeconds);
  for (const { code, name: build, width } of CODES) {
    const task = { code, maps: [], folders, width };
    const cold = await rounds(async () => {
      await rm(cache, { recursive: true, force: true });
      return await read(task, cache);
    });
    add(name, `${build}: cold`, cold, plain.cpuSeconds);
    const changed = await rounds(async () => {
      await changeOne();
      return await read(task, cache);
    });
    add(name, `${build}: one file changed`, changed, plain.cpuSeconds);
    add(name, `${build}: nothing changed`, await rounds(() => read(task, cache)), plain.cpuSeconds);
  }
}

process.stdout.write(`
${FOLDERS} folders of ${FILES} files; median of ${ROUNDS} rounds, load ${loadavg().map(figure).join(' ')}. CPU seconds are of all processes.

${formatTable(['from', 'what', 'cpu s', 'wall s', 'against directories'], rows)}
`);
