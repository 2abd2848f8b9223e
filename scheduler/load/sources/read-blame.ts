import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { formatTime, type Timestamp } from '#bundles/time';
import { type Git, REMOTE, runGit, withRemote, withoutRepository } from './run-git.ts';

/** The commit that gave a line its text. */
export type LineChange = {
  readonly commit: string;
  /** Name and address of its author. */
  readonly author: string;
  readonly at: Timestamp;
  readonly summary: string;
  /** Text of the line. */
  readonly text: string;
};

/** A file in the work tree of a folder as it was committed before a time, or at a commit of a repository. */
export type CommittedFile = { readonly file: string } & (
  | { readonly directory: string; readonly before: Timestamp }
  | { readonly url: string; readonly commit: string }
);

/** A file, and its lines that are asked for. */
export type Blamed = CommittedFile & { readonly lines: readonly number[] };

export type BlameOptions = { readonly cacheDirectory: string } & Git;

/**
 * The commits that last changed lines of files, as far as the repositories know. A repository by URL is fetched with its history and without
 * its contents, once for all its files.
 * @returns for each file that is asked for, by line; a file that is not committed, or whose repository does not answer, has none
 * @throws FleetError TOOL_MISSING, ABORTED, DISK_FULL
 */
export const readBlame = async (
  asked: readonly Blamed[],
  { cacheDirectory, env, signal }: BlameOptions,
): Promise<readonly ReadonlyMap<number, LineChange>[]> => {
  const git: Git = { env: withoutRepository(env), signal };
  const found = asked.map((): ReadonlyMap<number, LineChange> => new Map());
  const add = async (own: Git, at: readonly string[], revision: string, one: Blamed) => {
    const { file, lines } = one;
    const ranges = lines.flatMap((line) => ['-L', `${line},${line}`]);
    const blamed = await runGit(own, [...at, 'blame', '--porcelain', ...ranges, revision, '--', file]);
    if (blamed.code === 0) found[asked.indexOf(one)] = parsePorcelain(blamed.out);
  };
  const urls = Map.groupBy(asked, (one) => ('url' in one ? one.url : ''));
  for (const [url, files] of urls) {
    if (url === '') {
      for (const one of files) {
        if (!('directory' in one)) continue;
        const at = ['-C', one.directory];
        const newest = await runGit(git, [...at, 'rev-list', '-1', `--before=${one.before}`, 'HEAD']);
        const revision = newest.out.trim();
        if (newest.code === 0 && revision !== '') await add(git, at, revision, one);
      }
      continue;
    }
    const directory = join(cacheDirectory, `blame-${randomUUID()}.git`);
    await createDirectory(cacheDirectory);
    const remote = withRemote(git, url);
    const at = ['--git-dir', directory];
    try {
      await runGit(remote, ['init', '--quiet', '--bare', '--template=', directory]);
      const commits = new Set(files.flatMap((one) => ('commit' in one ? [one.commit] : [])));
      const fetch = [...at, 'fetch', '--quiet', '--no-tags', '--filter=blob:none', REMOTE];
      const fetched = await runGit(remote, [...fetch, ...commits]);
      // Old servers only send commits that a ref points at.
      if (fetched.code !== 0) await runGit(remote, [...fetch, '+refs/heads/*:refs/heads/*']);
      for (const one of files) if ('commit' in one) await add(remote, at, one.commit, one);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
  return found;
};

/** git-blame(1), "THE PORCELAIN FORMAT": what is said of a commit comes with its first line only. */
const parsePorcelain = (out: string): ReadonlyMap<number, LineChange> => {
  const known = new Map<string, Omit<LineChange, 'text'>>();
  const lines = new Map<number, LineChange>();
  let header: readonly [commit: string, line: number] = ['', 0];
  let fields: Record<string, string> = {};
  for (const line of out.split('\n')) {
    const begin = /^([0-9a-f]{40,64}) \d+ (\d+)/.exec(line);
    if (begin) {
      header = [begin[1] ?? '', Number(begin[2])];
      fields = {};
    } else if (line.startsWith('\t')) {
      const [commit, number] = header;
      const change = known.get(commit) ?? {
        commit,
        author: `${fields['author'] ?? ''} ${fields['author-mail'] ?? ''}`.trim(),
        at: formatTime(new Date(Number(fields['author-time'] ?? 0) * 1000)),
        summary: fields['summary'] ?? '',
      };
      known.set(commit, change);
      lines.set(number, { ...change, text: line.slice(1) });
    } else {
      const [name = '', ...rest] = line.split(' ');
      fields[name] = rest.join(' ');
    }
  }
  return lines;
};
