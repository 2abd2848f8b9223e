import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';

/** One program of a cluster. Its output is in `<folder>/<name>.log`, one boot after the other. */
export type Component = {
  readonly name: string;
  readonly isRunning: () => boolean;
  /** Ends it and waits for that. After SIGTERM it has a moment to finish, then SIGKILL follows. */
  readonly end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  /** The last lines that it said. */
  readonly tail: () => string;
};

/** Go collects garbage at five times what is in use instead of at twice, within a limit: programs of a test live for a minute. */
export const GO_MEMORY = { GOGC: '400', GOMEMLIMIT: '512MiB' };

/** An API server would wait a minute for its watches to go away. */
const PATIENCE_MS = 1500;

/** Starts a program that dies with this process, whichever way that ends (where setpriv can see to it). */
export const startComponent = (name: string, argv: readonly string[], folder: string): Component => {
  const log = join(folder, `${name}.log`);
  const output = openSync(log, 'a');
  const tie = findProgram('setpriv') === undefined ? [] : ['setpriv', '--pdeathsig=KILL'];
  const [program = '', ...words] = [...tie, ...argv];
  const child = spawn(program, words, {
    cwd: folder,
    env: { ...process.env, ...GO_MEMORY },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  let failure = '';
  child.on('error', (error) => {
    failure = error.message;
  });
  return {
    name,
    isRunning: () => failure === '' && !hasEnded(child),
    end: (signal) => end(child, signal),
    tail: () => failure || readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n'),
  };
};

/** Asks until `isReady` says so. IO, with the last words of a component, when one ends before or it takes too long. */
export const awaitReady = async (
  components: readonly Component[],
  isReady: () => Promise<boolean>,
  limit: AbortSignal,
): Promise<void> => {
  while (!(await isReady())) {
    const ended = components.find((component) => !component.isRunning());
    if (ended !== undefined)
      throw new FleetError('IO', `${ended.name} has ended; it last said: ${ended.tail()}`);
    if (limit.aborted) {
      const said = components.map(({ name, tail }) => `${name} last said: ${tail()}`);
      throw new FleetError('IO', `The cluster is not ready in time. ${said.join('\n')}`);
    }
    await sleep(40);
  }
};

const hasEnded = (child: ChildProcess): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

const end = async (child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  if (hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  const impatience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await exit;
  clearTimeout(impatience);
};
