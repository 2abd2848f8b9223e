import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { FleetError } from '../../../bundles/errors.ts';
import type { CommandLine } from './answer-lines.ts';
import { HUGE_PAGES } from './huge-pages.ts';
import { type TestProgram, testProgramFile } from './program-file.ts';
import type { Outcome } from './run-command.ts';

/** Runs `<program> <words>` in `cwd` with the whole environment `env`. */
export type RunLine = (cwd: string, words: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Outcome>;

/**
 * Keeps one process that runs command lines of a program, one after the other. The modules and the entry are those of the program; the
 * start and the compilation are paid once. Tests of signals, of standard input, of two processes at once, of memory and of what a start
 * does run the program itself (programFile). @param startEnv environment of the process, for what modules read when they are loaded
 */
export const keptProgram = (name: string, file: TestProgram, startEnv?: NodeJS.ProcessEnv): RunLine => {
  let kept: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const runNext = async (line: CommandLine): Promise<Outcome> => {
    if (kept?.connected !== true) kept = start(file, startEnv);
    const child = kept;
    child.channel?.ref();
    const ended = new AbortController();
    const fail = (): void =>
      ended.abort(new FleetError('IO', `${name} ${line.words.join(' ')} ended its process.`));
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

  return (cwd, words, env = process.env) => {
    const outcome = last.then(() => runNext({ cwd, words, env }));
    last = outcome.catch(() => undefined);
    return outcome;
  };
};

/** It ends with this process, whose end it does not delay. */
const start = (file: TestProgram, env = process.env): ChildProcess => {
  const child = fork(testProgramFile(file), {
    env: { ...env, ...HUGE_PAGES },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.unref();
  return child;
};
