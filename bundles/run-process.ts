import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FleetError } from './errors.ts';

export type ProcessOptions = {
  /** The whole environment of the program; its PATH is searched for the program. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Bytes of standard output that are kept. */
  readonly maxOutput: number;
  /** Handling of a program that writes more than `maxOutput` bytes: stop it (the default), or drop the rest. */
  readonly excess?: 'stop' | 'drop';
  /** Characters of standard error that are kept, from its end: 16 Ki by default. */
  readonly maxErrors?: number;
  /** Standard input, empty by default. When it throws, the program sees its input end, and the error is thrown on. */
  readonly input?: Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined;
  /** Signal that stops the program, SIGKILL by default. */
  readonly killSignal?: NodeJS.Signals;
  /**
   * The program leads a process group of its own and has no terminal: to stop it stops its children as well, and children that outlive
   * it and hold its pipes are not waited for.
   */
  readonly group?: boolean;
  /** Stops the program in place of `killSignal`, for a caller that also finds what left the group. It returns before the end of the program. */
  readonly kill?: (pid: number) => void;
};

export type ProcessResult = {
  /** As a shell reports it: 128 + n after signal n. */
  readonly code: number;
  /** The signal that ended it. */
  readonly endedBy: NodeJS.Signals | undefined;
  /** The limit for which it was stopped. */
  readonly stopped: 'timeout' | 'output' | undefined;
  readonly stdout: Buffer;
  /** The end of standard error, `maxErrors` characters. */
  readonly stderr: string;
};

const MAX_ERRORS = 16 << 10;
/** Time that pipes stay open after the end of the leader of a group. */
const DRAIN_MS = 500;
/** Time for a program whose input has failed to clean up. */
const GRACE_MS = 20_000;

/**
 * Runs a program to its end, without a shell. A failing program and one that was stopped for a limit are results.
 * @throws FleetError ABORTED when `signal` fires, the system's error (ENOENT, EACCES) when the program cannot be started,
 * and the error of `input`
 */
export const runProcess = async (
  argv: readonly string[],
  options: ProcessOptions,
): Promise<ProcessResult> => {
  const {
    cwd,
    env,
    signal,
    timeoutMs,
    maxOutput,
    excess = 'stop',
    maxErrors = MAX_ERRORS,
    input = [],
  } = options;
  const { killSignal = 'SIGKILL', group = false } = options;
  const [program = '', ...args] = argv;
  const aborted = () => new FleetError('ABORTED', `${basename(program)} was stopped before its end`);
  if (signal?.aborted) throw aborted();
  const child = spawn(program, args, { cwd, env, detached: group, stdio: 'pipe' });

  let stopped: ProcessResult['stopped'];
  const closePipes = () => {
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
  };
  const stop = (limit?: ProcessResult['stopped']) => {
    stopped ??= limit;
    if (options.kill && child.pid !== undefined) options.kill(child.pid);
    kill(child.pid, killSignal, group);
    closePipes();
  };
  const onAbort = () => stop();
  signal?.addEventListener('abort', onAbort, { once: true });
  const timers: NodeJS.Timeout[] = [];
  if (timeoutMs !== undefined) timers.push(setTimeout(() => stop('timeout'), timeoutMs));
  if (group) child.once('exit', () => timers.push(setTimeout(closePipes, DRAIN_MS)));

  const output: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    output.push(chunk.subarray(0, Math.max(0, maxOutput - size)));
    size += chunk.byteLength;
    if (size > maxOutput && excess === 'stop') stop('output');
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-maxErrors);
  });

  let failure: { readonly error: unknown } | undefined;
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* input;
    } catch (error) {
      failure = { error };
      timers.push(setTimeout(stop, GRACE_MS));
      throw error;
    }
  };
  // A program that ends before it has read everything says why by its exit code.
  void pipeline(Readable.from(watched(), { objectMode: false }), child.stdin).catch(() => undefined);

  const ended = Promise.withResolvers<Pick<ProcessResult, 'code' | 'endedBy'>>();
  child.once('error', ended.reject);
  child.once('close', (code, by) =>
    ended.resolve({ code: code ?? 128 + (by ? constants.signals[by] : 0), endedBy: by ?? undefined }),
  );
  try {
    const end = await ended.promise;
    if (signal?.aborted) throw aborted();
    if (failure) throw failure.error;
    return { ...end, stopped, stdout: Buffer.concat(output), stderr: errors };
  } finally {
    signal?.removeEventListener('abort', onAbort);
    for (const timer of timers) clearTimeout(timer);
  }
};

const kill = (pid: number | undefined, signal: NodeJS.Signals, group: boolean): void => {
  if (pid === undefined) return;
  try {
    process.kill(group ? -pid : pid, signal);
  } catch {
    // It has just ended.
  }
};

/** @returns whether the error says that a program could not be started, and `code` is the reason ('ENOENT') */
export const isStartFailure = (error: unknown, code?: string): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  'syscall' in error &&
  String(error.syscall).startsWith('spawn') &&
  (code === undefined || ('code' in error && error.code === code));
