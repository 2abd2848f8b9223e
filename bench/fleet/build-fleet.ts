/**
 * One measured process of the benches of fleets: builds a generated fleet cold, and with --edits again after each edit,
 * with what a running scheduler keeps. Prints one line of JSON.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { defined } from '#bundles/defined';
import { buildLoaded } from '../../scheduler/build/pipeline.ts';
import type { EnvironmentBuild } from '../../scheduler/assemble/environment-build.ts';
import { createBuildMemory } from '../../scheduler/assemble/incremental/build-memory.ts';
import { loadPlatform, sourcesOf } from '../../scheduler/load/load-platform.ts';
import { renderPlatform } from '../../scheduler/render/render-platform.ts';
import { renderTree } from '../../scheduler/render/render-tree.ts';
import { schedulePlatform } from '../../scheduler/plan/schedule/schedule-platform.ts';
import type { Edit } from './make-fleet.ts';

/** Its input, as JSON. */
export type Task = {
  readonly platform: string;
  readonly environment: string;
  readonly maps: readonly { readonly repo: string; readonly ref?: string; readonly directory: string }[];
  readonly makes: 'bundles' | 'tree';
  readonly workers: number;
  readonly edits: readonly Edit[];
};

/** Its output. Seconds are CPU time, user and system. */
export type Answer = {
  readonly assignments: number;
  readonly bytes: number;
  /** Longest block of the event loop during the build, after reading. */
  readonly longestBlockMs: number;
  readonly edits: readonly {
    readonly name: string;
    readonly readSeconds: number;
    readonly cpuSeconds: number;
    readonly wallSeconds: number;
    readonly changed: number;
    readonly longestBlockMs: number;
  }[];
};

const task = JSON.parse(process.argv[2] as string) as Task;
// As fleet-scheduler.js for a build; a server sets other flags.
if (task.edits.length === 0) setFlagsFromString('--invocation-count-for-turbofan=200000');
const memory = task.edits.length > 0 ? createBuildMemory() : undefined;
const options = { ...task, fleet: 'bench', cacheDirectory: `${task.platform}-cache`, env: process.env };
const { signal } = new AbortController();

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

const read = async () => {
  const sources = sourcesOf({ ...options, ...defined({ files: memory?.files }) });
  return { sources, platform: await loadPlatform({ ...options, sources }) };
};

const build = async ({ sources, platform }: Awaited<ReturnType<typeof read>>): Promise<EnvironmentBuild> =>
  await buildLoaded(
    { platform, sources, images: 'unchecked', previous: undefined, workers: task.workers, memory },
    signal,
  );

const tree = async (): Promise<Answer> => {
  const { platform } = await read();
  const result = renderPlatform(platform, schedulePlatform(platform));
  const bytes = [...renderTree(platform, result).values()].reduce((sum, one) => sum + one.length, 0);
  return { assignments: result.packages.length, bytes, longestBlockMs: Number.NaN, edits: [] };
};

const bundles = async (): Promise<Answer> => {
  const first = await read();
  const block = startBlock();
  let last = await build(first);
  const longestBlockMs = await block();
  const assignments = last.bundles.reduce((sum, { bundle }) => sum + bundle.config.assignments.length, 0);
  const bytes = sizeOf(last);
  const edits: Answer['edits'][number][] = [];
  for (const { name, path, from, to } of task.edits) {
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(from, to));
    const [start, begin] = [cpuSeconds(), performance.now()];
    const input = await read();
    const loaded = cpuSeconds();
    const longest = startBlock();
    const built = await build(input);
    const [end, now] = [cpuSeconds(), performance.now()];
    const changed = built.bundles.filter(
      ({ bundle }, at) => bundle.digest !== last.bundles[at]?.bundle.digest,
    ).length;
    edits.push({
      name,
      readSeconds: loaded - start,
      cpuSeconds: end - loaded,
      wallSeconds: (now - begin) / 1000,
      changed,
      longestBlockMs: await longest(),
    });
    last = built;
    await writeFile(path, text);
    last = await build(await read());
  }
  return { assignments, bytes, longestBlockMs, edits };
};

/** @returns a function that ends the measurement and returns the longest block of the event loop in ms */
const startBlock = (): (() => Promise<number>) => {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  return async () => {
    await setTimeout(20);
    delay.disable();
    return delay.max / 1e6;
  };
};

const sizeOf = ({ bundles: built }: EnvironmentBuild): number =>
  built.flatMap(({ bundle }) => bundle.blobs).reduce((sum, { bytes }) => sum + bytes.length, 0);

process.stdout.write(`${JSON.stringify(task.makes === 'tree' ? await tree() : await bundles())}\n`);
