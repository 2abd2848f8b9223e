/**
 * `npm run bench fleet-growth`: how the cost of a cold build grows with cluster types and workloads, in our form, each size
 * in a process of its own, on 1 and on all processors. Every pair matches up to 100,000; beyond, one in ten does (a
 * workload is meant for one of ten kinds of places). FLEET_BENCH_ROUNDS (1), FLEET_BENCH_MOST (1000).
 */
import { rm } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { makeFleet } from './fleet/make-fleet.ts';
import { runFleet } from './fleet/run-fleet.ts';
import { medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 1);
const MOST = Number(process.env['FLEET_BENCH_MOST'] ?? 1000);
const STEPS = [10, 100, 1000].filter((step) => step <= MOST);
const ALL_MATCH = 100_000;

await using folder = await temporaryDirectory('bench-growth');
const rows: string[][] = [];
for (const clusterTypes of STEPS) {
  for (const workloads of STEPS) {
    const directory = join(folder.path, `${clusterTypes}-${workloads}`);
    const share = clusterTypes * workloads > ALL_MATCH ? 0.1 : 1;
    const fleet = await makeFleet(directory, 'fleet', { workloads, clusterTypes, configs: 50, share });
    for (const workers of new Set([1, availableParallelism()])) {
      const runs = [];
      for (let round = 0; round < ROUNDS; round++)
        runs.push(await runFleet({ ...fleet, makes: 'bundles', workers, edits: [] }));
      const { wallSeconds, cpuSeconds, peakMiB } = medianOf(runs.map(({ measured }) => measured));
      const { assignments = 0, bytes = 0 } = runs[0]?.answer ?? {};
      const figures = [cpuSeconds, wallSeconds, peakMiB, bytes / 1e6].map(figure);
      rows.push([String(clusterTypes), String(workloads), String(assignments), String(workers), ...figures]);
    }
    await rm(directory, { recursive: true });
  }
}

process.stdout.write(`
Cold builds in our form, whole processes, 50 configurations; median of ${ROUNDS}, load ${loadavg().map(figure).join(' ')}.

${formatTable(['cluster types', 'workloads', 'assignments', 'workers', 'cpu s', 'wall s', 'peak MiB', 'MB'], rows)}
`);
