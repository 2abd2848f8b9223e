import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../platform/sources/git-cache.ts';
import { type Git, runGit, withRemote } from '../../platform/sources/run-git.ts';
import { COMMITTER } from './commit-words.ts';
import type { Changes } from './plan-changes.ts';

/**
 * Makes one commit on top of `base` (or a first one) in a repository of its own (openScratch) and gives its id. Nothing is checked out,
 * and of the branch's files only those that change are written (git-fast-import(1)).
 * @param now author and committer date
 * @throws FleetError IO
 */
export const writeCommit = async (
  plain: Git,
  repository: GitRepository,
  {
    base,
    changes,
    message,
    now,
  }: {
    readonly base: string | undefined;
    readonly changes: Changes;
    readonly message: string;
    readonly now: Date;
  },
): Promise<string> => {
  const git = withRemote(plain, repository.url);
  const at = ['--git-dir', repository.gitDirectory];
  const ref = 'refs/heads/draft';
  const who = `${COMMITTER} ${Math.floor(now.getTime() / 1000)} +0000`;
  const input = [
    Buffer.from(`feature done\ncommit ${ref}\nauthor ${who}\ncommitter ${who}\n`),
    ...data(Buffer.from(message)),
    ...(base === undefined ? [] : [Buffer.from(`from ${base}\n`)]),
    ...changes.removed.map((path) => Buffer.from(`D ${quoted(path)}\n`)),
    ...changes.written.flatMap(({ path, bytes }) => [
      Buffer.from(`M 100644 inline ${quoted(path)}\n`),
      ...data(bytes),
    ]),
    Buffer.from('done\n'),
  ];
  const made = await runGit(git, [...at, 'fast-import', '--quiet'], { input });
  const id = made.code === 0 ? await runGit(git, [...at, 'rev-parse', '--verify', ref]) : made;
  if (id.code !== 0) throw new FleetError('IO', `git could not write the commit: ${id.lastLine}`);
  return id.out.trim();
};

const data = (bytes: Buffer): readonly Buffer[] => [
  Buffer.from(`data ${bytes.length}\n`),
  bytes,
  Buffer.from('\n'),
];

/** A path as fast-import reads it in quotes, whatever bytes it is made of. */
const quoted = (path: string): string => {
  const escaped = path.replaceAll(
    /[^\x20-\x7e]|["\\]/g,
    (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
};
