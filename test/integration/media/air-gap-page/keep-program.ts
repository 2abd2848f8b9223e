import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MERGED_VARIABLE } from '../../../harness/run/answer-lines.ts';
import { HUGE_PAGES } from '../../../harness/run/huge-pages.ts';
import type { RunLine } from '../../../harness/run/kept-program.ts';
import { type TestProgram, testProgramFile } from '../../../harness/run/program-file.ts';
import type { Outcome } from '../../../harness/run/run-command.ts';
import type { Place } from './start-place.ts';

/** Runs command lines of a program in one process in the place, where it sees the stick. Standard error comes in between standard output. */
export const keepProgram = (place: Place, file: TestProgram): RunLine & Disposable => {
  const [command = '', ...words] = place.words(`exec '${process.execPath}' '${testProgramFile(file)}'`);
  const child = spawn(command, words, {
    env: { ...place.env, ...HUGE_PAGES },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const run: RunLine = async (cwd, line, env = place.env) => {
    child.send({ cwd, words: line, env: { ...env, [MERGED_VARIABLE]: '1' } });
    const [outcome] = (await once(child, 'message')) as [Outcome];
    return outcome;
  };
  return Object.assign(run, { [Symbol.dispose]: () => void child.kill('SIGKILL') });
};
