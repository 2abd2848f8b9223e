import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { styleText } from 'node:util';
import { isFleetError } from '../bundles/errors.ts';
import type { RunLine } from '../test/harness/run/kept-program.ts';
import { PROGRAMS_VARIABLE } from '../test/harness/run/program-file.ts';
import { runExporter } from '../test/harness/run/run-exporter.ts';
import { runScheduler } from '../test/harness/run/run-scheduler.ts';
import { updatePrograms, type ProgramName, PROGRAMS } from './built-programs.ts';

export const REPOSITORY = join(import.meta.dirname, '..');

/** Tests run the office's command lines in one process for each program: most of what a short command costs is its start. */
const KEPT: Partial<Record<ProgramName, RunLine>> = process.env[PROGRAMS_VARIABLE]
  ? { 'fleet-scheduler': runScheduler, 'fleet-export': runExporter }
  : {};

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** A step did not have the expected result. The story ends with the message. */
export class Broken extends Error {}

/** Prints the story while it runs: numbered steps, commands as people type them, and their output. */
export type Story = {
  /** Path below the story's folder. */
  readonly at: (...parts: readonly string[]) => string;
  /** The same path as people type it in commands. */
  readonly shown: (path: string) => string;
  readonly title: (text: string) => void;
  readonly say: (text: string) => void;
  /**
   * Runs one of the three programs and shows its output. @param prefix command that runs it, for example without a network
   * @throws Broken when it ends otherwise than expected
   */
  readonly run: (
    program: ProgramName,
    words: readonly string[],
    expected?: number | readonly number[],
    prefix?: readonly string[],
  ) => Promise<Ran>;
  /**
   * Shows a command line, calls a function for it, and shows the output: for commands that `run` cannot start, such as those at the site.
   * @param line with its prompt
   * @throws Broken when it ends otherwise than expected
   */
  readonly show: (
    line: string,
    action: () => Promise<Ran>,
    expected?: number | readonly number[],
  ) => Promise<Ran>;
  /** As `run`, without output and with any exit code. */
  readonly ask: (program: ProgramName, words: readonly string[]) => Promise<Ran>;
  /** Builds the programs where needed, empties the folder, and puts the example company's repositories into it. */
  readonly begin: () => Promise<void>;
  /** Commits everything in a folder to its branch main, and shows that. @throws Broken when Git refuses */
  readonly commit: (folder: string, message: string) => Promise<void>;
};

export type StoryOptions = {
  /** Ends the running program, and the story before the next command. */
  readonly signal?: AbortSignal;
  /** Commands are typed in the story's folder, by default in the repository. */
  readonly inside?: boolean;
};

export const createStory = (name: string, { signal, inside = false }: StoryOptions = {}): Story => {
  const work = join(REPOSITORY, '.fleet', name);
  const at = (...parts: readonly string[]): string => join(work, ...parts);
  const cwd = inside ? work : REPOSITORY;
  const shown = (path: string): string => relative(cwd, path);
  const say = (text: string): void => {
    process.stdout.write(`   ${text}\n`);
  };
  const show: Story['show'] = async (line, action, expected = 0) => {
    signal?.throwIfAborted();
    process.stdout.write(styleText('dim', `   ${line}\n`));
    const ran = await action();
    // Without a terminal the programs write lines for an audit log.
    for (const said of `${ran.stderr}${ran.stdout}`.split('\n')) {
      if (said.trim() !== '' && !line.includes(' --json') && !said.startsWith('{"level"'))
        say(said.replaceAll(`${cwd}/`, ''));
    }
    const allowed = [expected].flat();
    if (allowed.includes(ran.code)) return ran;
    const words = line
      .replace(/^.*?[$#] /, '')
      .split(' ')
      .slice(0, 2)
      .join(' ');
    throw new Broken(`${words} ended with ${ran.code} instead of ${allowed.join(' or ')}.`);
  };
  const start = (program: ProgramName, words: readonly string[], prefix: readonly string[]): Promise<Ran> => {
    const kept = KEPT[program];
    if (kept !== undefined && prefix.length === 0) return kept(cwd, words);
    return runCommand([...prefix, process.execPath, PROGRAMS[program], ...words], { cwd, signal });
  };
  let step = 0;
  return {
    at,
    shown,
    say,
    show,
    title: (text) => {
      step += 1;
      process.stdout.write(`\n${styleText('bold', `${step}. ${text}`)}\n`);
    },
    run: (program, words, expected, prefix = []) => {
      const near = words
        .map((word) => (word.startsWith(work) ? shown(word) : word))
        .map((word) => (word.includes(' ') ? JSON.stringify(word) : word));
      return show(`$ ${program} ${near.join(' ')}`, () => start(program, words, prefix), expected);
    },
    ask: (program, words) => start(program, words, []),
    begin: async () => {
      await updatePrograms(say);
      await rm(work, { recursive: true, force: true });
      await mkdir(work, { recursive: true });
      for (const part of ['platform', 'apps']) {
        await cp(join(REPOSITORY, 'examples', part), at('company', part), { recursive: true });
      }
    },
    commit: async (folder, message) => {
      const git = (...words: readonly string[]): Promise<Ran> =>
        runCommand(['git', '-C', at(folder), ...words], { signal });
      const author = ['-c', 'user.name=Halden Foods', '-c', 'user.email=platform@halden.example'];
      const all = async (): Promise<Ran> => {
        await git('init', '--quiet', '--initial-branch=main');
        await git('add', '--all');
        return await git(...author, 'commit', '--quiet', '--no-gpg-sign', '--message', message);
      };
      await show(`$ git -C ${shown(at(folder))} commit --all --message ${JSON.stringify(message)}`, all);
    },
  };
};

/** Runs a command line to its end, by default in the repository. */
export const runCommand = async (
  [command = '', ...words]: readonly string[],
  { cwd = REPOSITORY, signal }: { readonly cwd?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<Ran> => {
  const child = spawn(command, words, { cwd, stdio: ['ignore', 'pipe', 'pipe'], signal });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  child.on('error', reject);
  child.on('close', (code) => resolve(code ?? 1));
  return { code: await promise, stdout, stderr };
};

/** SHA-256 of a file, as `sha256sum` prints it for comparing the trust root. */
export const sha256Of = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

/** Size in bytes of a file, or of all files below a folder. */
export const sizeOf = async (path: string): Promise<number> => {
  const found = await stat(path);
  if (!found.isDirectory()) return found.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => sizeOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
};

/**
 * Tells a story; one that breaks, or that the harness gives up on, ends with its sentence and exit code 1. Ctrl-C ends what is under way and lets the story
 * clean up; a second one does not wait for that.
 */
export const tell = async (story: (signal: AbortSignal) => Promise<void>): Promise<void> => {
  const stop = new AbortController();
  const interrupt = (name: 'SIGINT' | 'SIGTERM', code: number): void => {
    process.once(name, () => {
      process.stderr.write('\nStopping; everything that was started ends with it.\n');
      process.once(name, () => process.exit(code));
      process.exitCode = code;
      stop.abort();
    });
  };
  interrupt('SIGINT', 130);
  interrupt('SIGTERM', 143);
  try {
    await story(stop.signal);
  } catch (error) {
    if (stop.signal.aborted) return;
    if (!(error instanceof Broken || isFleetError(error))) throw error;
    process.stderr.write(`\nThe quickstart stops here: ${error.message}\n`);
    process.exitCode = 1;
  }
};
