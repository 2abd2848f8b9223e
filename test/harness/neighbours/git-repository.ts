import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { runOrFail } from '../run/run-command.ts';

/** What a commit says. The same words, date, parent and files give the same commit id on every machine. */
export type CommitWords = {
  readonly message?: string;
  /** Author and committer date; by default a fixed one. */
  readonly date?: Date;
};

const DATE = new Date('2026-01-01T00:00:00Z');
/** As `git init --bare` writes it. A push starts no process that looks for garbage. */
const CONFIG =
  '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[receive]\n\tautogc = false\n';
const WHO = 'Fleet Ferry <fleet@example.invalid>';

/**
 * Makes the bare repository `path` with one branch for each entry of `branches`, each one commit that holds exactly
 * the files of its folder. The first branch is HEAD. Returns the commit ids by branch.
 */
export const makeGitRepository = async (
  path: string,
  branches: Readonly<Record<string, string>>,
  words?: CommitWords,
): Promise<Readonly<Record<string, string>>> => {
  const names = Object.keys(branches);
  for (const folder of ['objects', 'refs/heads']) await mkdir(join(path, folder), { recursive: true });
  await writeFile(join(path, 'config'), CONFIG);
  await writeFile(join(path, 'HEAD'), `ref: refs/heads/${names[0] ?? 'main'}\n`);
  const commits = await Promise.all(
    Object.entries(branches).map(([branch, folder]) => readCommit(path, branch, folder, words)),
  );
  const ids = await importCommits(path, commits);
  return Object.fromEntries(names.map((name, index) => [name, ids[index] ?? '']));
};

/** Adds a commit to a branch (or begins it) whose tree is exactly `folder`, ignored files too. Returns its id. */
export const commitFolder = async (
  repository: string,
  branch: string,
  folder: string,
  words?: CommitWords,
): Promise<string> => {
  const [id = ''] = await importCommits(repository, [await readCommit(repository, branch, folder, words)]);
  return id;
};

/** A commit in the words of git-fast-import(1), which makes it in one process. */
const readCommit = async (
  repository: string,
  branch: string,
  folder: string,
  { message = 'Files', date = DATE }: CommitWords = {},
): Promise<readonly Buffer[]> => {
  const ref = `refs/heads/${branch}`;
  const who = `${WHO} ${Math.floor(date.getTime() / 1000)} +0000`;
  const packed = await readFile(join(repository, 'packed-refs'), 'utf8').catch(() => '');
  const hasParent = existsSync(join(repository, ref)) || packed.includes(` ${ref}\n`);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = await Promise.all(
    entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => ({ link: entry.isSymbolicLink(), file: join(entry.parentPath, entry.name) }))
      .filter(({ file }) => !/(?:^|\/)\.git(?:\/|$)/.test(relative(folder, file)))
      .map(async ({ link, file }) => {
        const mode = link ? '120000' : await modeOf(file);
        const bytes = link ? Buffer.from(await readlink(file)) : await readFile(file);
        return [Buffer.from(`M ${mode} inline ${relative(folder, file)}\n`), ...data(bytes)];
      }),
  );
  return [
    Buffer.from(`commit ${ref}\nmark :1\nauthor ${who}\ncommitter ${who}\n`),
    ...data(Buffer.from(message.endsWith('\n') ? message : `${message}\n`)),
    Buffer.from(`${hasParent ? `from ${ref}^0\n` : ''}deleteall\n`),
    ...files.flat(),
    Buffer.from('get-mark :1\n'),
  ];
};

const data = (bytes: Buffer): readonly Buffer[] => [
  Buffer.from(`data ${bytes.length}\n`),
  bytes,
  Buffer.from('\n'),
];

/** git with nothing of the user's: no configuration, no prompts. @returns the ids, in order */
const importCommits = async (
  repository: string,
  commits: readonly (readonly Buffer[])[],
): Promise<readonly string[]> => {
  const env = {
    PATH: process.env['PATH'],
    GIT_DIR: repository,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
  };
  // A pack of few objects would be unpacked by a second process.
  const settings = ['safe.directory=*', 'fastimport.unpackLimit=1'];
  const argv = ['git', ...settings.flatMap((one) => ['-c', one]), 'fast-import', '--quiet'];
  const { stdout } = await runOrFail(argv, { env, input: Buffer.concat(commits.flat()) });
  return stdout.trim().split('\n');
};

const modeOf = async (file: string): Promise<string> =>
  ((await stat(file)).mode & 0o100) === 0 ? '100644' : '100755';
