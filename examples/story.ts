import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { styleText } from 'node:util';

const REPOSITORY = join(import.meta.dirname, '..');

const PROGRAMS = {
  'fleet-scheduler': join(REPOSITORY, 'scheduler', 'fleet-scheduler.js'),
  'fleet-export': join(REPOSITORY, 'exporter', 'fleet-export.js'),
  'fleet-agent': join(REPOSITORY, 'agent', 'fleet-agent.js'),
} as const;

export type ProgramName = keyof typeof PROGRAMS;

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** What a step promised and did not keep: the story ends there, in one sentence. */
export class Broken extends Error {}

/** A story that is told while it happens: numbered steps, commands as a person would type them, what they said. */
export type Story = {
  /** Path below the story's folder. */
  readonly at: (...parts: readonly string[]) => string;
  /** The same as a person in the repository would write it. */
  readonly shown: (path: string) => string;
  readonly title: (text: string) => void;
  readonly say: (text: string) => void;
  /**
   * Runs one of the three programs and shows what it says. @param prefix what runs it, such as an air gap
   * @throws Broken when it ends otherwise than expected
   */
  readonly run: (
    program: ProgramName,
    words: readonly string[],
    expected?: number | readonly number[],
    prefix?: readonly string[],
  ) => Promise<Ran>;
  /** Empties the folder and puts the example company's repositories into it. */
  readonly begin: () => Promise<void>;
};

export const createStory = (name: string): Story => {
  const work = join(REPOSITORY, '.fleet', name);
  const at = (...parts: readonly string[]): string => join(work, ...parts);
  const shown = (path: string): string => relative(REPOSITORY, path);
  const say = (text: string): void => {
    process.stdout.write(`   ${text}\n`);
  };
  let step = 0;
  return {
    at,
    shown,
    say,
    title: (text) => {
      step += 1;
      process.stdout.write(`\n${styleText('bold', `${step}. ${text}`)}\n`);
    },
    run: async (program, words, expected = 0, prefix = []) => {
      const near = words.map((word) => (word.startsWith(work) ? shown(word) : word));
      process.stdout.write(styleText('dim', `   $ ${program} ${near.join(' ')}\n`));
      const ran = await runCommand([...prefix, process.execPath, PROGRAMS[program], ...words]);
      for (const line of `${ran.stderr}${ran.stdout}`.split('\n')) {
        if (line.trim() !== '' && !words.includes('--json')) say(line.replaceAll(`${REPOSITORY}/`, ''));
      }
      const allowed = [expected].flat();
      if (allowed.includes(ran.code)) return ran;
      throw new Broken(
        `${program} ${words[0]} ended with ${ran.code} instead of ${allowed.join(' or ')}.\n${ran.stderr}`,
      );
    },
    begin: async () => {
      await rm(work, { recursive: true, force: true });
      await mkdir(work, { recursive: true });
      for (const part of ['platform', 'apps']) {
        await cp(join(REPOSITORY, 'examples', part), at('company', part), { recursive: true });
      }
    },
  };
};

const runCommand = async ([command = '', ...words]: readonly string[]): Promise<Ran> => {
  const child = spawn(command, words, { cwd: REPOSITORY, stdio: ['ignore', 'pipe', 'pipe'] });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  child.on('error', reject);
  child.on('close', (code) => resolve(code ?? 1));
  return { code: await promise, stdout, stderr };
};

/** What `sha256sum` says of a file: how a person compares the trust root. */
export const sha256Of = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

/** Bytes of a file, or of all files below a folder. */
export const sizeOf = async (path: string): Promise<number> => {
  const found = await stat(path);
  if (!found.isDirectory()) return found.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => sizeOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
};

/** Tells a story; one that breaks ends with its sentence and exit code 1. */
export const tell = async (story: () => Promise<void>): Promise<void> => {
  try {
    await story();
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    process.stderr.write(`\nThe quickstart stops here: ${error.message}\n`);
    process.exitCode = 1;
  }
};
