/**
 * `npm run bench render-fleet`: 500 workloads on 100 cluster types, all matching: from YAML to bundles, cold and after one
 * value of the configuration has changed, in both forms. FLEET_BENCH_ROUNDS (5), FLEET_BENCH_WORKLOADS (500),
 * FLEET_BENCH_TYPES (100), FLEET_BENCH_CONFIGS (50), FLEET_BENCH_SHARE (1) of all pairs that match.
 */
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import type { PlatformForm } from '../scheduler/model/model.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import type { Answer } from './fleet/build-fleet.ts';
import { makeFleet } from './fleet/make-fleet.ts';
import { runFleet } from './fleet/run-fleet.ts';
import { median, medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const setting = (name: string, value: number): number => Number(process.env[`FLEET_BENCH_${name}`] ?? value);
const ROUNDS = setting('ROUNDS', 5);
const SIZE = {
  workloads: setting('WORKLOADS', 500),
  clusterTypes: setting('TYPES', 100),
  configs: setting('CONFIGS', 50),
  share: setting('SHARE', 1),
};

await using folder = await temporaryDirectory('bench-fleet');
const [cold, changed]: [string[][], string[][]] = [[], []];
const MB = 1e6;

for (const [form, makes] of [
  ['fleet', 'bundles'],
  ['kalypso', 'bundles'],
  ['kalypso', 'tree'],
] as const satisfies readonly (readonly [PlatformForm, string])[]) {
  const fleet = await makeFleet(join(folder.path, form), form, SIZE);
  for (const workers of makes === 'tree' ? [1] : [1, availableParallelism()]) {
    const runs: Awaited<ReturnType<typeof runFleet>>[] = [];
    for (let round = 0; round < ROUNDS; round++)
      runs.push(await runFleet({ ...fleet, makes, workers, edits: [] }));
    const { wallSeconds, cpuSeconds, peakMiB } = medianOf(runs.map(({ measured }) => measured));
    const { assignments = 0, bytes = 0 } = runs[0]?.answer ?? {};
    const block = median(runs.map(({ answer }) => answer.longestBlockMs));
    const row = [cpuSeconds, wallSeconds, peakMiB, bytes / MB].map(figure);
    row.push(Number.isNaN(block) ? '' : figure(block));
    cold.push([form, makes, String(workers), String(assignments), ...row]);
  }
  if (makes === 'tree') continue;
  const runs: Answer['edits'][] = [];
  for (let round = 0; round < ROUNDS; round++)
    runs.push((await runFleet({ ...fleet, makes, workers: 1, edits: fleet.edits })).answer.edits);
  for (const [at, { name, changed: count }] of (runs[0] ?? []).entries()) {
    const of = (field: 'cpuSeconds' | 'readSeconds' | 'wallSeconds' | 'longestBlockMs'): string =>
      figure(median(runs.map((edits) => edits[at]?.[field] ?? Number.NaN)));
    const figures = [of('cpuSeconds'), of('readSeconds'), of('wallSeconds'), of('longestBlockMs')];
    changed.push([form, name, ...figures, String(count)]);
  }
}

process.stdout.write(`
${SIZE.workloads} workloads on ${SIZE.clusterTypes} cluster types, ${SIZE.configs} configurations; median of ${ROUNDS} rounds, load ${loadavg().map(figure).join(' ')}.
Cold, whole processes:

${formatTable(['form', 'makes', 'workers', 'assignments', 'cpu s', 'wall s', 'peak MiB', 'MB', 'longest block ms'], cold)}

One value changed, in a scheduler that runs; reading and parsing all files again is listed separately, and is part of the wall time:

${formatTable(['form', 'value', 'cpu s', 'read cpu s', 'wall s', 'longest block ms', 'bundles changed'], changed)}
`);
