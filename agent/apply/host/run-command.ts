import { isStartFailure, runProcess } from '#bundles/run-process';
import type { Run } from './host-options.ts';

/** Upper bound on output kept for messages, in bytes. */
const MAX_OUTPUT = 256 << 10;

/**
 * Runs a program of the host. Exit codes are those of a shell: 124 after a timeout, 126 for a program that cannot be run, 127 for one
 * that does not exist.
 * @throws FleetError ABORTED
 */
export const runCommand: Run = async (argv, { timeoutMs, signal, cwd, env = process.env }) => {
  try {
    const options = {
      timeoutMs,
      signal,
      cwd,
      env,
      maxOutput: MAX_OUTPUT,
      excess: 'drop',
      group: true,
    } as const;
    const { code, stopped, stdout, stderr } = await runProcess(argv, options);
    return {
      code: stopped ? 124 : code,
      stdout: stdout.toString('utf8'),
      stderr: stopped ? `${stderr}timed out after ${timeoutMs / 1000} s` : stderr,
    };
  } catch (error) {
    if (!isStartFailure(error)) throw error;
    const code = error.code === 'ENOENT' ? 127 : 126;
    return { code, stdout: '', stderr: `cannot be run: ${error.code ?? error.message}` };
  }
};
