import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { FleetError } from '../../bundles/errors.ts';

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type RunOptions = {
  readonly cwd?: string;
  /** The whole environment; by default this process's. */
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
};

/**
 * Runs a program to its end and returns its exit code (128 + n after signal n) and output.
 * Throws TOOL_MISSING where there is no such program, ABORTED when `signal` fires.
 */
export const runCommand = (argv: readonly string[], options: RunOptions = {}): Promise<Outcome> => {
  const [program = '', ...rest] = argv;
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(program, rest, {
    cwd: options.cwd,
    env: options.env,
    signal: options.signal,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const output: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => output[0].push(chunk));
  child.stderr.on('data', (chunk: Buffer) => output[1].push(chunk));
  // A program that does not read its input is no error of ours.
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  child.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      reject(new FleetError('TOOL_MISSING', `There is no program '${program}' here.`, { cause: error }));
    else if (error.name === 'AbortError')
      reject(new FleetError('ABORTED', `'${shorten(argv)}' was stopped before its end.`, { cause: error }));
    else reject(error);
  });
  child.on('close', (code, signal) => {
    const [stdout, stderr] = output.map((chunks) => Buffer.concat(chunks).toString('utf8'));
    const status = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    resolve({ code: status, stdout: stdout ?? '', stderr: stderr ?? '' });
  });
  return promise;
};

/** As runCommand, but anything other than exit code 0 is an IO error that shows the last lines the program said. */
export const runOrFail = async (argv: readonly string[], options: RunOptions = {}): Promise<Outcome> => {
  const outcome = await runCommand(argv, options);
  if (outcome.code === 0) return outcome;
  const said = `${outcome.stdout}\n${outcome.stderr}`.trim().split('\n').slice(-8).join('\n');
  throw new FleetError('IO', `'${shorten(argv)}' ended with ${outcome.code}: ${said}`);
};

const shorten = (argv: readonly string[]): string => {
  const line = argv.join(' ');
  return line.length > 100 ? `${line.slice(0, 100)} ...` : line;
};
