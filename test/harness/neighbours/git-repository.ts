import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

/** What a commit says. The same words, date, parent and files give the same commit id on every machine. */
export type CommitWords = {
  readonly message?: string;
  /** Author and committer date; by default a fixed one. */
  readonly date?: Date;
};

const DATE = new Date('2026-01-01T00:00:00Z');

/**
 * Makes the bare repository `path` with one branch for each entry of `branches`, each one commit that holds exactly
 * the files of its folder. The first branch is HEAD. Returns the commit ids by branch.
 */
export const makeGitRepository = async (
  path: string,
  branches: Readonly<Record<string, string>>,
  words?: CommitWords,
): Promise<Readonly<Record<string, string>>> => {
  await mkdir(path, { recursive: true });
  await git(path, ['init', '--quiet', '--bare', '--template=', '.']);
  const [first = 'main'] = Object.keys(branches);
  await git(path, ['symbolic-ref', 'HEAD', `refs/heads/${first}`]);
  const commits: Record<string, string> = {};
  for (const [branch, folder] of Object.entries(branches))
    commits[branch] = await commitFolder(path, branch, folder, words);
  return commits;
};

/** Adds a commit to a branch (or begins it) whose tree is exactly `folder`, ignored files too. Returns its id. */
export const commitFolder = async (
  repository: string,
  branch: string,
  folder: string,
  { message = 'Files', date = DATE }: CommitWords = {},
): Promise<string> => {
  await using work = await temporaryDirectory('index');
  const env = {
    GIT_INDEX_FILE: join(work.path, 'index'),
    GIT_WORK_TREE: await realpath(folder),
    GIT_AUTHOR_DATE: stamp(date),
    GIT_COMMITTER_DATE: stamp(date),
  };
  const ref = `refs/heads/${branch}`;
  const parents = await git(repository, ['for-each-ref', '--format=%(objectname)', ref]);
  await git(repository, ['add', '--all', '--force', '.'], env, folder);
  const tree = await git(repository, ['write-tree'], env);
  const parent = parents === '' ? [] : ['-p', parents];
  const commit = await git(repository, ['commit-tree', tree, ...parent, '-m', message], env);
  await git(repository, ['update-ref', ref, commit]);
  return commit;
};

const stamp = (date: Date): string => `${Math.floor(date.getTime() / 1000)} +0000`;

/** git with nothing of the user's: no configuration, no identity, no prompts. */
const git = async (
  repository: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd: string = repository,
): Promise<string> => {
  const options = {
    cwd,
    env: {
      PATH: process.env['PATH'],
      GIT_DIR: await realpath(repository),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_AUTHOR_NAME: 'Fleet Ferry',
      GIT_AUTHOR_EMAIL: 'fleet@example.invalid',
      GIT_COMMITTER_NAME: 'Fleet Ferry',
      GIT_COMMITTER_EMAIL: 'fleet@example.invalid',
      ...env,
    },
  };
  const settings = ['core.autocrlf=false', 'core.fileMode=true', 'safe.directory=*', 'gc.auto=0'];
  const { stdout } = await runOrFail(['git', ...settings.flatMap((one) => ['-c', one]), ...words], options);
  return stdout.trim();
};
