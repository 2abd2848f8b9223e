import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { FleetError } from '#bundles/errors';
import type { CommandResult, Run } from './host-options.ts';

/** More of what a program says is of no use in an error. */
const MAX_OUTPUT = 256 << 10;
/** A program may leave a child behind that holds its pipes: it is not waited for longer than this. */
const DRAIN_MS = 500;

/**
 * The real Run: 124 after a timeout, 126 and 127 for a program that cannot be run or is not there, as a shell would
 * say. The program leads a process group of its own, so that a timeout ends its children as well.
 * @throws FleetError ABORTED
 */
export const runCommand: Run = (argv, { timeoutMs, signal, cwd, env }) => {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const aborted = () => new FleetError('ABORTED', `${argv[0]} was stopped before its end`);
  if (signal.aborted) return Promise.reject(aborted());
  const child = spawn(argv[0] ?? '', argv.slice(1), {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = capped();
  const err = capped();
  child.stdout.on('data', out.add);
  child.stderr.on('data', err.add);

  let timedOut = false;
  const kill = () => killGroup(child.pid);
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  let drain: NodeJS.Timeout | undefined;

  const finish = (code: number, said = err.text()) => {
    clearTimeout(timer);
    clearTimeout(drain);
    signal.removeEventListener('abort', kill);
    child.stdout.destroy();
    child.stderr.destroy();
    if (signal.aborted) reject(aborted());
    else if (timedOut)
      resolve({
        code: 124,
        stdout: out.text(),
        stderr: `${err.text()}timed out after ${timeoutMs / 1000} s`,
      });
    else resolve({ code, stdout: out.text(), stderr: said });
  };
  child.on('error', (error: NodeJS.ErrnoException) =>
    finish(error.code === 'ENOENT' ? 127 : 126, `cannot be run: ${error.code ?? error.message}`),
  );
  const exitCode = (code: number | null, by: NodeJS.Signals | null) =>
    code ?? 128 + (by === null ? 0 : constants.signals[by]);
  child.on('exit', (code, by) => {
    drain = setTimeout(() => finish(exitCode(code, by)), DRAIN_MS);
  });
  child.on('close', (code, by) => finish(exitCode(code, by)));
  return promise;
};

const killGroup = (pid: number | undefined): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
};

const capped = () => {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    add: (chunk: Buffer) => {
      if (size < MAX_OUTPUT) chunks.push(chunk.subarray(0, MAX_OUTPUT - size));
      size += chunk.length;
    },
    text: () => Buffer.concat(chunks).toString('utf8'),
  };
};
