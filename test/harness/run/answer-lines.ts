import { createInterface } from 'node:readline';
import type { Program } from '#cli/load-config';
import { runProgram } from '#cli/run-program';
import type { Outcome } from './run-command.ts';

export type CommandLine = {
  readonly cwd: string;
  readonly words: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
};

/** Where it is 1, standard error comes in between standard output, as on a terminal. */
export const MERGED_VARIABLE = 'FLEET_TEST_MERGED';

/** Answers each message to this process, a CommandLine, with the Outcome of `program`; without a channel, each line `[id, CommandLine]`. */
export const answerLines = async (program: Program): Promise<void> => {
  if (process.send) {
    process.on('message', (line: CommandLine) => {
      void run(program, line).then((outcome) => process.send?.(outcome));
    });
    return;
  }
  const write = process.stdout.write.bind(process.stdout);
  for await (const text of createInterface({ input: process.stdin })) {
    const [id, line] = JSON.parse(text) as [number, CommandLine];
    write(`${JSON.stringify([id, await run(program, line)])}\n`);
  }
};

/** In place: libuv and children read the environment of the process, not an object that replaces process.env. */
const setEnvironment = (env: NodeJS.ProcessEnv): void => {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
};

const keep =
  (pieces: string[]) =>
  (text: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    pieces.push(typeof text === 'string' ? text : Buffer.from(text).toString('utf8'));
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  };

const run = async (program: Program, { cwd, words, env }: CommandLine): Promise<Outcome> => {
  const stdout: string[] = [];
  const stderr: string[] = env[MERGED_VARIABLE] === '1' ? stdout : [];
  process.stdout.write = keep(stdout);
  process.stderr.write = keep(stderr);
  process.exitCode = 0;
  setEnvironment({ ...env, OCLIF_DISABLE_ENGINE_WARNING: '1' });
  process.chdir(cwd);
  await runProgram(program, words);
  const code = process.exitCode;
  // Each command waits for them.
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  process.exitCode = 0;
  process.chdir('/');
  return { code, stdout: stdout.join(''), stderr: stderr === stdout ? '' : stderr.join('') };
};
