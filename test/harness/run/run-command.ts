import { FleetError } from '../../../bundles/errors.ts';
import { isStartFailure, runProcess } from '../../../bundles/run-process.ts';

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
export const runCommand = async (
  argv: readonly string[],
  { cwd, env = process.env, input = '', signal }: RunOptions = {},
): Promise<Outcome> => {
  const { code, stdout, stderr } = await runProcess(argv, {
    cwd,
    env,
    signal,
    input: [Buffer.from(input)],
    maxOutput: Infinity,
    maxErrors: Infinity,
    killSignal: 'SIGTERM',
  }).catch((cause: unknown) => {
    if (!isStartFailure(cause, 'ENOENT')) throw cause;
    throw new FleetError('TOOL_MISSING', `There is no program '${argv[0]}' here.`, { cause });
  });
  return { code, stdout: stdout.toString('utf8'), stderr };
};

/** Fails with everything the program said: a test that only says "1 is not 0" helps nobody. */
export const succeed = <Ended extends { readonly code: number | null }>(outcome: Ended): Ended => {
  const { code, ...said } = outcome;
  if (code !== 0) throw new Error(`exit code ${code}\n${Object.values(said).map(String).join('\n')}`);
  return outcome;
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
