import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../harness/run/find-program.ts';

/** A process that may be killed and started again; its output of all its lives. */
export type Process = AsyncDisposable & {
  readonly log: () => string;
  readonly isRunning: () => boolean;
  /** Returns when it is ready. */
  readonly start: () => Promise<void>;
  /** @returns its exit code, or the signal that ended it */
  readonly end: (signal: NodeJS.Signals) => Promise<number | NodeJS.Signals | null>;
};

export type ProcessOptions = {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** What it says when it is ready; by default it is at once. */
  readonly ready?: string;
};

const READY_MS = 180_000;

export const makeProcess = (argv: readonly string[], { cwd, env, ready }: ProcessOptions): Process => {
  let child: ChildProcess | undefined;
  let log = '';
  const isRunning = (): boolean =>
    child !== undefined && child.exitCode === null && child.signalCode === null;
  // Tied to this process where setpriv can: a killed run leaves nothing behind.
  const tie = findProgram('setpriv') === undefined ? [] : ['setpriv', '--pdeathsig=KILL'];
  const start = async (): Promise<void> => {
    const from = log.length;
    const [first = '', ...words] = [...tie, ...argv];
    child = spawn(first, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        log += chunk.toString();
      });
    const limit = Date.now() + READY_MS;
    const isReady = (): boolean => ready === undefined || log.slice(from).includes(ready);
    while (!isReady()) {
      if (!isRunning() || Date.now() > limit)
        throw new Error(`${argv[1]} is not ready: ${log.slice(from).slice(-2000)}`);
      await sleep(50);
    }
  };
  const end = async (signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> => {
    if (child === undefined) return null;
    if (isRunning()) {
      const exit = once(child, 'exit');
      child.kill(signal);
      await exit;
    }
    return child.signalCode ?? child.exitCode;
  };
  return {
    log: () => log,
    isRunning,
    start,
    end,
    [Symbol.asyncDispose]: async () => {
      await end('SIGKILL');
    },
  };
};
