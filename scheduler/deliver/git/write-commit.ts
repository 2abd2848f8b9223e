import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { type Git, runGit, withRemote } from '../../load/sources/run-git.ts';
import { COMMITTER } from './commit-words.ts';
import type { Changes } from './plan-changes.ts';

/**
 * Creates one commit on top of `base`, or a root commit, in a temporary repository (openScratch). Nothing is checked out, and
 * only changed files are written (git-fast-import(1)).
 * @returns the commit id
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
  // One buffer: a list would need one write call per entry.
  const made = await runGit(git, [...at, 'fast-import', '--quiet'], { input: [Buffer.concat(input)] });
  const id = made.code === 0 ? await runGit(git, [...at, 'rev-parse', '--verify', ref]) : made;
  if (id.code !== 0) throw new FleetError('IO', `git could not write the commit: ${id.lastLine}`);
  return id.out.trim();
};

const data = (bytes: Buffer): readonly Buffer[] => [
  Buffer.from(`data ${bytes.length}\n`),
  bytes,
  Buffer.from('\n'),
];

/** A path in the quoted form of fast-import, which can represent any bytes. */
const quoted = (path: string): string => {
  const escaped = path.replaceAll(
    /[^\x20-\x7e]|["\\]/g,
    (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
};
