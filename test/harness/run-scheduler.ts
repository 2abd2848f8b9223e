import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { FleetError } from '../../bundles/errors.ts';
import { testProgramFile } from './program-file.ts';
import type { Outcome } from './run-command.ts';
import type { CommandLine } from './scheduler-lines.ts';

let kept: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `fleet-scheduler <words>` in `cwd`, after the runs before it: all of them in one process, which is kept. The modules and the entry
 * are those of the program, and a build takes less than half of the CPU time of a start. Tests of signals, of two processes at once and
 * of what a start does run the program itself (programFile).
 */
export const runScheduler = (
  cwd: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Outcome> => {
  const outcome = last.then(() => runNext({ cwd, words, env }));
  last = outcome.catch(() => undefined);
  return outcome;
};

const runNext = async (line: CommandLine): Promise<Outcome> => {
  if (kept?.connected !== true) kept = start();
  const child = kept;
  child.channel?.ref();
  const ended = new AbortController();
  const fail = (): void =>
    ended.abort(new FleetError('IO', `fleet-scheduler ${line.words.join(' ')} ended its process.`));
  child.once('exit', fail);
  try {
    child.send(line);
    const [outcome] = (await once(child, 'message', { signal: ended.signal })) as [Outcome];
    return outcome;
  } finally {
    child.off('exit', fail);
    child.channel?.unref();
  }
};

/** It ends with this process, whose end it does not delay. */
const start = (): ChildProcess => {
  const child = fork(testProgramFile('test/harness/scheduler-lines.ts'), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.unref();
  return child;
};
