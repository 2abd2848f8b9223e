import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { type Git, runGit, withRemote } from '../../load/sources/run-git.ts';
import type { CommitIdentity } from './commit-identity.ts';
import type { Changes } from './plan-changes.ts';

/**
 * Creates one commit on top of `base`, or a root commit, in a temporary repository (openScratch). Nothing is checked out, and
 * only changed files are written (git-fast-import(1)).
 * @returns the commit id
 * @param now author and committer date
 * @throws FleetError IO; GIT_REFUSED if it cannot be signed
 */
export const writeCommit = async (
  plain: Git,
  repository: GitRepository,
  {
    base,
    changes,
    message,
    identity,
    now,
  }: {
    readonly base: string | undefined;
    readonly changes: Changes;
    readonly message: string;
    readonly identity: CommitIdentity;
    readonly now: Date;
  },
): Promise<string> => {
  const git = withRemote(plain, repository.url);
  const at = ['--git-dir', repository.gitDirectory];
  const ref = 'refs/heads/draft';
  const { committer, author = committer } = identity;
  const when = `${Math.floor(now.getTime() / 1000)} +0000`;
  const input = [
    Buffer.from(`feature done\ncommit ${ref}\nauthor ${author} ${when}\ncommitter ${committer} ${when}\n`),
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
  const commit = id.out.trim();
  return identity.sign ? await signCommit(git, at, commit) : commit;
};

/**
 * Creates the signed form of a commit that is the newest one of a temporary repository, with the key and program of git's own
 * settings (gpg.format, user.signingkey). git-fast-import(1) cannot sign.
 * @throws FleetError GIT_REFUSED
 */
const signCommit = async (git: Git, at: readonly string[], commit: string): Promise<string> => {
  const shown = await runGit(git, [...at, 'show', '-s', '--format=%an%n%ae%n%cn%n%ce%n%at%n%P%n%B', commit]);
  const [author = '', authorEmail = '', name = '', email = '', seconds = '', parents = '', ...message] =
    shown.out.split('\n');
  const [date, parent] = [`@${seconds} +0000`, parents.split(' ').filter((one) => one !== '')];
  const who = {
    GIT_AUTHOR_NAME: author,
    GIT_AUTHOR_EMAIL: authorEmail,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: date,
  };
  const words = ['commit-tree', '-S', '-F', '-', ...parent.flatMap((id) => ['-p', id]), `${commit}^{tree}`];
  const input = [Buffer.from(message.join('\n').replace(/\n+$/, '\n'))];
  const signed = await runGit({ ...git, env: { ...git.env, ...who } }, [...at, ...words], { input });
  if (signed.code === 0) return signed.out.trim();
  throw new FleetError('GIT_REFUSED', `git did not sign the commit: ${signed.lastLine}`, {
    hint: 'Set gpg.format and user.signingkey in git’s configuration; the key must work without a prompt',
  });
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
