/**
 * `npm run bench build-command`: what a pipeline runs, as commands: `build` cold, with nothing changed, and after a commit of one value; `validate`;
 * `diff --against release`. The applications are read from directories, from one Git repository, and from a repository each.
 * FLEET_BENCH_WORKLOADS (200), FLEET_BENCH_TYPES (50), FLEET_BENCH_CONFIGS (50), FLEET_BENCH_ROUNDS (1), FLEET_BENCH_FROM (directories,one,each),
 * FLEET_BENCH_BEFORE: another checkout of this repository whose programs are built, to compare with.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { createManifest } from '../examples/make-images.ts';
import { PROGRAMS, updatePrograms } from '../examples/built-programs.ts';
import { openOrStartLayout, withReference, writeLayoutIndex } from '../bundles/formats/layout/layout.ts';
import { commitFolder, makeGitRepository } from '../test/harness/neighbours/git-repository.ts';
import { runOrFail } from '../test/harness/run/run-command.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { fleetFiles } from './fleet/fleet-form.ts';
import { makeFleet } from './fleet/make-fleet.ts';
import { type Measured, measure, medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const setting = (name: string, value: number): number => Number(process.env[`FLEET_BENCH_${name}`] ?? value);
const ROUNDS = setting('ROUNDS', 1);
const SIZE = {
  workloads: setting('WORKLOADS', 200),
  clusterTypes: setting('TYPES', 50),
  configs: setting('CONFIGS', 50),
  share: 1,
};
const FROM = (process.env['FLEET_BENCH_FROM'] ?? 'directories,one,each').split(',');
const BEFORE = process.env['FLEET_BENCH_BEFORE'];
const CODES = [
  ...(BEFORE === undefined
    ? []
    : [{ name: 'before', program: join(BEFORE, 'dist/scheduler/fleet-scheduler') }]),
  { name: 'this', program: PROGRAMS['fleet-scheduler'] },
];

await updatePrograms((text) => process.stderr.write(`${text}\n`));
await using space = await temporaryDirectory('bench-build-command');
const at = (...names: readonly string[]): string => join(space.path, ...names);
const fleet = await makeFleet(at('fleet'), 'fleet', SIZE);
const LOCK = at('fleet/platform/images.lock.yaml');

/** Each workload has an image of its own, in one layout. */
const makeImages = async (): Promise<void> => {
  let layout = await openOrStartLayout(at('images'));
  const references = [];
  let lock = await readFile(LOCK, 'utf8');
  for (const [, name = ''] of lock.matchAll(/"(registry\.example\.com\/[^":]+:1\.4\.2)":/g)) {
    const made = await createManifest(layout, name, 'amd64');
    references.push([name, made] as const);
    const pinned = `${name.slice(0, name.lastIndexOf(':'))}@`;
    lock = lock.replace(new RegExp(`"${pinned}sha256:[0-9a-f]+"`), `"${pinned}${made.digest}"`);
  }
  await writeFile(LOCK, lock);
  let { manifests } = layout;
  for (const [name, made] of references) manifests = withReference(manifests, name, made);
  layout = await writeLayoutIndex(layout, manifests);
};

const PARTIAL = ['config', 'uploadpack.allowFilter', 'true'];
const workloads = Object.keys(fleetFiles(SIZE).files).flatMap((path) => {
  const name = /^platform\/base\/workloads\/(.*)\.yaml$/.exec(path)?.[1];
  return name === undefined ? [] : [name];
});

type Place = { readonly platform: string; readonly change: () => Promise<void> };

/** One value of a cluster type. */
const [edit] = fleet.edits;
let revision = 0;
const changeValue = async (): Promise<void> => {
  if (!edit) return;
  revision += 1;
  const text = await readFile(edit.path, 'utf8');
  await writeFile(edit.path, text.replace(/vpn-[0-9]+(?:-[0-9]+)?/, `vpn-0-${revision}`));
};

/** A bare repository with the folder as its branch, which takes partial clones. */
const makeRepository = async (name: string, folder: string): Promise<string> => {
  const repository = at(name);
  await makeGitRepository(repository, { main: folder });
  await runOrFail(['git', '-C', repository, ...PARTIAL]);
  return repository;
};

/** The platform in a repository of its own or with its applications, where each change is a commit. */
const placeIn = async (name: string, folder: string, path: string): Promise<Place> => {
  const repository = await makeRepository(name, folder);
  return {
    platform: `file://${repository}#main${path}`,
    change: async () => {
      await changeValue();
      await commitFolder(repository, 'main', folder);
    },
  };
};

const PLACES: Readonly<Record<string, { readonly name: string; readonly make: () => Promise<Place> }>> = {
  directories: {
    name: 'directories',
    make: async () => ({ platform: fleet.platform, change: changeValue }),
  },
  one: {
    name: 'one repository',
    make: () => placeIn('one.git', at('fleet'), ':platform'),
  },
  each: {
    name: 'a repository each',
    make: async () => {
      for (const name of workloads) {
        const repository = await makeRepository(`each/${name}.git`, at('fleet/apps', name));
        const file = join(fleet.platform, `base/workloads/${name}.yaml`);
        const text = await readFile(file, 'utf8');
        await writeFile(file, text.replace(`../apps/${name}`, `file://${repository}`));
      }
      return placeIn('platform.git', fleet.platform, '');
    },
  },
};

// Where the programs keep their compiled code: the base folder is never created.
await mkdir(at('code'));
await makeImages();
await measure([
  process.execPath,
  PROGRAMS['fleet-scheduler'],
  'root',
  'init',
  '--dev',
  '--fleet',
  'bench',
  '--keys',
  at('keys'),
]);

const rows: string[][] = [];
for (const from of FROM) {
  const found = PLACES[from];
  if (!found) throw new Error(`FLEET_BENCH_FROM: ${from} is not directories, one or each`);
  const place = await found.make();
  for (const { name: code, program } of CODES) {
    const common = ['--platform', place.platform, '--cache', at('cache')];
    const run = (...args: readonly string[]) =>
      measure([process.execPath, program, ...args], { env: { XDG_CACHE_HOME: at('code') } });
    const build = () =>
      run('build', ...common, '--keys', at('keys'), '--layout', at('layout'), '--images', at('images'));
    const clear = async (): Promise<void> => {
      for (const folder of ['cache', 'layout']) await rm(at(folder), { recursive: true, force: true });
    };
    const steps: readonly (readonly [string, () => Promise<void>, () => Promise<Measured>])[] = [
      ['build, cold', clear, build],
      ['build, nothing changed', async () => {}, build],
      ['build, one value', place.change, build],
      ['validate, one value', place.change, () => run('validate', ...common)],
      [
        'diff --against release, one value',
        place.change,
        () => run('diff', ...common, '--layout', at('layout'), '--against', 'release'),
      ],
    ];
    // Compiles the program.
    await run('--version');
    await clear();
    await build();
    const taken = steps.map((): Measured[] => []);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [index, [, before, work]] of steps.entries()) {
        await before();
        taken[index]?.push(await work());
      }
    const figures = taken.map(medianOf);
    const cold = figures[0]?.cpuSeconds ?? Number.NaN;
    for (const [index, { cpuSeconds, wallSeconds, peakMiB }] of figures.entries())
      rows.push([
        found.name,
        code,
        steps[index]?.[0] ?? '',
        ...[cpuSeconds, wallSeconds, peakMiB].map(figure),
        `${figure(cpuSeconds / cold)}x`,
      ]);
  }
}

process.stdout.write(`
${SIZE.workloads * SIZE.clusterTypes} assignments (${SIZE.workloads} workloads on ${SIZE.clusterTypes} cluster types); median of ${ROUNDS} rounds, load ${loadavg().map(figure).join(' ')}. CPU seconds are of all processes.

${formatTable(['from', 'program', 'what', 'cpu s', 'wall s', 'peak MiB', 'of cold'], rows)}
`);
