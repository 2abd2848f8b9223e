/**
 * `npm run bench write-tree`: the rendered tree of 100 workloads on 100 cluster types in Kalypso's form (10,000 assignments, three
 * files each) written to a directory, to a Git branch and to a directory behind a link, each twice, beside `cp -r` of the same
 * files. FLEET_BENCH_ROUNDS (3), FLEET_BENCH_WORKLOADS (100), FLEET_BENCH_TYPES (100).
 */
import { rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { makeFleet } from './fleet/make-fleet.ts';
import { type Measured, measure, median, medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const setting = (name: string, value: number): number => Number(process.env[`FLEET_BENCH_${name}`] ?? value);
const ROUNDS = setting('ROUNDS', 3);
const SIZE = {
  workloads: setting('WORKLOADS', 100),
  clusterTypes: setting('TYPES', 100),
  configs: 50,
  share: 1,
};

await using folder = await temporaryDirectory('bench-tree');
const at = (name: string): string => join(folder.path, name);
const { platform, environment, maps } = await makeFleet(at('fleet'), 'kalypso', SIZE);
const program = [process.execPath, join(import.meta.dirname, '../scheduler/fleet-scheduler.js')];
const input = [
  '--platform',
  platform,
  '--environment',
  environment,
  '--fleet',
  'bench',
  '--cache',
  at('cache'),
  ...maps.flatMap(({ repo, ref, directory }) => [
    '--map',
    `${repo}${ref === undefined ? '' : `#${ref}`}=${directory}`,
  ]),
];
const render = [...program, 'render', ...input, '--out', at('out')];
const publish = (to: string): readonly string[] => [...program, 'publish', ...input, '--to', to];
const steps = [
  ['render --out', render],
  ['render --out, nothing changed', render],
  ['cp -r', ['cp', '-r', at('out'), at('copy')]],
  ['publish --to git+file', publish(`git+file://${at('git')}`)],
  ['publish --to git+file, nothing changed', publish(`git+file://${at('git')}`)],
  ['publish --to <directory>', publish(at('trees'))],
  ['publish --to <directory>, nothing changed', publish(at('trees'))],
] as const satisfies readonly (readonly [string, readonly string[]])[];

const runs: Measured[][] = steps.map(() => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const name of ['out', 'copy', 'git', 'trees', 'cache'])
    await rm(at(name), { recursive: true, force: true });
  await measure(['git', 'init', '--quiet', '--bare', at('git')]);
  for (const [index, [, argv]] of steps.entries())
    runs[index]?.push(await measure(argv, { env: { NODE_COMPILE_CACHE: at('code') } }));
}

const copies = runs[2] ?? [];
const ratio = (of: readonly Measured[], field: 'wallSeconds' | 'cpuSeconds'): string =>
  figure(median(of.map((run, round) => run[field] / (copies[round]?.[field] ?? Number.NaN))));
const rows = steps.map(([name], index) => {
  const measured = runs[index] ?? [];
  const { wallSeconds, cpuSeconds, peakMiB } = medianOf(measured);
  const wall = [figure(wallSeconds), ratio(measured, 'wallSeconds')];
  return [name, ...wall, figure(cpuSeconds), ratio(measured, 'cpuSeconds'), figure(peakMiB)];
});
process.stdout.write(`
${SIZE.workloads * SIZE.clusterTypes} assignments; median of ${ROUNDS} rounds, load ${loadavg().map(figure).join(' ')}. x is against cp -r, round by round.

${formatTable(['what', 'wall s', 'x', 'cpu s', 'x', 'peak MiB'], rows)}
`);
