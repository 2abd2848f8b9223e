/**
 * `npm run fuzz -- [--minutes 10] [--seed 1] [--target <name>]... [--repeat <file>]`: feeds every parser of untrusted bytes with
 * changed ones (docs/attacks.md). The same seed makes the same inputs. What is answered by
 * anything but a FleetError, does not come back or eats memory is written to test/fuzz/findings, where the component tests find it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { formatTable } from '../../bench/table.ts';
import { type StoredFinding, storeFinding } from './findings.ts';
import { runCase } from './one-case.ts';
import type { TargetRun } from './supervise.ts';
import { TARGETS } from './targets.ts';

const OPTIONS = {
  minutes: { type: 'string', default: '10' },
  seed: { type: 'string', default: '1' },
  target: { type: 'string', multiple: true, default: [] },
  repeat: { type: 'string' },
} satisfies ParseArgsOptionsConfig;

const readOptions = () => {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    process.stderr.write(
      `npm run fuzz: ${(error as Error).message.split('.')[0]}; there are --minutes, --seed, --target and --repeat.\n`,
    );
    return process.exit(2);
  }
};

const values = readOptions();

/** @returns how many of them still are findings */
const repeat = async (file: string): Promise<number> => {
  const { target: name, input } = JSON.parse(readFileSync(file, 'utf8')) as StoredFinding;
  const target = TARGETS.find((it) => it.name === name);
  if (!target) throw new Error(`there is no target ${name}`);
  const outcome = await runCase(target, Buffer.from(input, 'base64'));
  process.stdout.write(`${name}: ${outcome.kind === 'finding' ? outcome.error : outcome.answer}\n`);
  return outcome.kind === 'finding' ? 1 : 0;
};

type Encoded = Omit<TargetRun, 'findings'> & {
  readonly findings: readonly Omit<StoredFinding, 'target' | 'seed'>[];
};

const runTarget = async (name: string, seed: number, milliseconds: number): Promise<Encoded> => {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'run-target.ts'), name, String(seed), String(milliseconds)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  // A heap that is full may end the process and not only its thread: what it worked on is made again by the seed.
  if (code !== 0)
    throw new Error(
      `the process for ${name} ended with ${code}: run it again with --target ${name} --seed ${seed}`,
    );
  return JSON.parse(Buffer.concat(chunks).toString()) as Encoded;
};

const fuzz = async (): Promise<number> => {
  const unknown = values.target.find((name) => !TARGETS.some((target) => target.name === name));
  const all = TARGETS.map(({ name }) => name);
  if (unknown !== undefined) throw new Error(`There is no target ${unknown}. There are: ${all.join(', ')}`);
  const names = values.target.length > 0 ? values.target : all;
  const seed = Number(values.seed);
  const milliseconds = Math.ceil((Number(values.minutes) * 60_000) / names.length);
  process.stdout.write(`${names.length} targets, ${(milliseconds / 1000).toFixed(1)} s each, seed ${seed}\n`);
  const rows: string[][] = [];
  let [cases, findings, peak] = [0, 0, 0];
  for (const name of names) {
    const run = await runTarget(name, seed, milliseconds);
    cases += run.cases;
    findings += run.findings.length;
    peak = Math.max(peak, run.peakBytes);
    const mebibytes = (run.peakBytes / 2 ** 20).toFixed(0);
    const numbers = [
      run.cases,
      run.accepted,
      run.answers,
      Math.round(run.slowestMs),
      mebibytes,
      run.findings.length,
    ];
    rows.push([name, ...numbers.map(String)]);
    process.stdout.write(`${rows.at(-1)?.join('  ')}\n`);
    for (const finding of run.findings) {
      const file = storeFinding({ target: name, seed, ...finding });
      process.stdout.write(
        `FINDING ${file}: ${finding.error.split('\n')[0]}\n  again: npm run fuzz -- --repeat ${file}\n`,
      );
    }
  }
  const header = ['target', 'cases', 'accepted', 'answers', 'slowest ms', 'peak MiB', 'findings'];
  process.stdout.write(`\n${formatTable(header, rows)}\n\n`);
  process.stdout.write(`${cases} cases, ${findings} findings, ${(peak / 2 ** 20).toFixed(0)} MiB at most\n`);
  return findings;
};

const bad = values.repeat === undefined ? await fuzz() : await repeat(values.repeat);
if (bad > 0) process.exitCode = 1;
