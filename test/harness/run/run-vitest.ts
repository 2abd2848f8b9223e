import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { VitestReport } from './count-results.ts';
import { type Strays, STRAYS_VARIABLE } from './note-strays.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export type VitestRun = {
  /** undefined: vitest ended without one. */
  readonly report: VitestReport | undefined;
  readonly exitCode: number;
  /** True if it ran to its end, and every error belongs to a file of the report. */
  readonly isComplete: boolean;
};

export type VitestOptions = {
  readonly repository: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly words: readonly string[];
  /** Where vitest's own output goes. */
  readonly output: 'inherit' | 'ignore';
};

/** Runs vitest and reads its results. */
export const runVitest = async ({
  repository,
  cwd,
  env,
  words,
  output,
}: VitestOptions): Promise<VitestRun> => {
  await using folder = await temporaryDirectory('results');
  const results = join(folder.path, 'results.json');
  const strays = join(folder.path, 'strays.json');
  const programs = join(repository, 'node_modules/.bin');
  const argv = [
    await realpath(join(programs, 'vitest')),
    'run',
    '--passWithNoTests',
    '--reporter=default',
    '--reporter=json',
    `--reporter=${join(import.meta.dirname, 'note-strays.ts')}`,
    `--outputFile.json=${results}`,
    ...words,
  ];
  const vitest = spawn(process.execPath, argv, {
    cwd,
    env: { ...env, [STRAYS_VARIABLE]: strays, PATH: `${programs}${delimiter}${env['PATH'] ?? ''}` },
    stdio: ['ignore', output, output],
  });
  const [code] = (await once(vitest, 'exit')) as [number | null];
  const report = await readJson<VitestReport>(results);
  const ended = await readJson<Strays>(strays);
  return {
    report,
    exitCode: code ?? 1,
    isComplete: ended !== undefined && ended.reason !== 'interrupted' && ended.errors.length === 0,
  };
};

const readJson = async <T>(file: string): Promise<T | undefined> => {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as T);
};
