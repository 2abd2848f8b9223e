import { spawn } from 'node:child_process';
import { FleetError } from '../bundles/errors.ts';

/** Resource use of one run of a command. */
export type Measured = {
  readonly wallSeconds: number;
  /** User and system time of the command and its children. */
  readonly cpuSeconds: number;
  /** Of the largest single process. */
  readonly peakMiB: number;
  /** What the file system was given to write, in whole pages. */
  readonly writtenBytes: number;
  readonly stdout: string;
};

/** Node has no wait4 with resource use. Prints one line of JSON on descriptor 3. */
const WRAPPER = `
import json, os, resource, subprocess, sys, time
begin = time.monotonic()
code = subprocess.call(sys.argv[1:], pass_fds=())
wall = time.monotonic() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(3, json.dumps([code, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, used.ru_oublock * 512]).encode())
`;

/** @throws FleetError IO when the command fails: a failed run has no figure */
export const measure = async (
  argv: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Promise<Measured> => {
  const child = spawn('python3', ['-c', WRAPPER, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
  });
  const [stdout, stderr, figures] = await Promise.all(
    [child.stdout, child.stderr, child.stdio[3]].map((stream) => textOf(stream as NodeJS.ReadableStream)),
  );
  const [code, wallSeconds, cpuSeconds, peakMiB, writtenBytes] = JSON.parse(figures || '[1,0,0,0,0]') as [
    number,
    number,
    number,
    number,
    number,
  ];
  if (code !== 0) throw new FleetError('IO', `${argv.join(' ')} ended with ${code}: ${stderr?.slice(-2000)}`);
  return { wallSeconds, cpuSeconds, peakMiB, writtenBytes, stdout: stdout ?? '' };
};

const textOf = async (stream: NodeJS.ReadableStream): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
};

/** Median of each figure over several runs. */
export const medianOf = (runs: readonly Measured[]): Omit<Measured, 'stdout'> => ({
  wallSeconds: median(runs.map((run) => run.wallSeconds)),
  cpuSeconds: median(runs.map((run) => run.cpuSeconds)),
  peakMiB: median(runs.map((run) => run.peakMiB)),
  writtenBytes: median(runs.map((run) => run.writtenBytes)),
});
