import { isStartFailure, runProcess } from '#bundles/run-process';
import { withoutSecrets } from '#bundles/without-secrets';
import type { Run } from './host-options.ts';
import { killAll, inOwnGroup, kill, MARK, markedBy, type Processes } from './processes.ts';

/** Upper bound on output kept for messages, in bytes. */
const MAX_OUTPUT = 256 << 10;

/**
 * Runs a program of the host. Exit codes are those of a shell: 124 after a timeout, 126 for a program that cannot be run, 127 for one
 * that does not exist. A program that is stopped for its limit or by the signal is killed with all that it started, found by a mark in their
 * environment. What a program that ended within its limit left running stays.
 * @throws FleetError ABORTED
 */
export const runCommand: Run = (argv, options) => {
  const mark = options.mark ?? nextMark();
  const env = { ...withoutSecrets(options.env ?? process.env), [MARK]: mark };
  return run(argv, { ...options, env }, markedBy(mark));
};

/** As runCommand, in a unit that runs nothing else: what a stopped program started is found by the unit's control group. */
export const runInUnit: Run = (argv, options) =>
  run(argv, { ...options, env: withoutSecrets(options.env ?? process.env) }, inOwnGroup);

let commands = 0;

/** Another one than those of earlier processes with the same number. */
const nextMark = (): string => {
  commands += 1;
  return `${process.pid}-${Math.trunc(performance.timeOrigin)}-${commands}`;
};

type Running = Omit<Parameters<Run>[1], 'env' | 'mark'> & {
  readonly env: Readonly<Record<string, string | undefined>>;
};

const run = async (
  argv: readonly string[],
  { timeoutMs, signal, cwd, env }: Running,
  processes: Processes,
): ReturnType<Run> => {
  try {
    const options = {
      timeoutMs,
      signal,
      cwd,
      env,
      maxOutput: MAX_OUTPUT,
      excess: 'drop',
      group: true,
      kill: (pid: number) => kill(processes, pid),
    } as const;
    const { code, stopped, stdout, stderr } = await runProcess(argv, options);
    if (stopped) await killAll(processes);
    return {
      code: stopped ? 124 : code,
      stdout: stdout.toString('utf8'),
      stderr: stopped ? `${stderr}timed out after ${timeoutMs / 1000} s` : stderr,
    };
  } catch (error) {
    if (!isStartFailure(error)) {
      await killAll(processes);
      throw error;
    }
    const code = error.code === 'ENOENT' ? 127 : 126;
    return { code, stdout: '', stderr: `cannot be run: ${error.code ?? error.message}` };
  }
};
