import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { FleetError } from '#bundles/errors';
import { redactText } from './repository-url.ts';

export type Git = {
  /** The environment git runs in: its credentials, proxies, insteadOf. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
};

export type GitResult = { readonly code: number; readonly out: string; readonly lastLine: string };

/** A name that no configuration of the user's uses: its own remote of the same name would come first. */
export const REMOTE = 'fleet-ferry-source';

/**
 * Names a repository to git as the remote REMOTE through its environment: a URL may hold a password, which would be
 * seen in the process list as an argument, and stay on the disk in a cache's configuration.
 */
export const withRemote = (git: Git, url: string): Git =>
  withSettings(git, [
    [`remote.${REMOTE}.url`, url],
    [`remote.${REMOTE}.promisor`, 'true'],
    [`remote.${REMOTE}.partialclonefilter`, 'blob:none'],
  ]);

/** Follows no redirect of a server: by one, credentials and the choice of the repository would leave what was checked. */
export const withoutRedirects = (git: Git): Git => withSettings(git, [['http.followRedirects', 'false']]);

const withSettings = (git: Git, settings: readonly (readonly [key: string, value: string])[]): Git => {
  const first = Number(git.env.GIT_CONFIG_COUNT ?? '0') || 0;
  const added = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${first + at}`, key],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ]);
  const env = { ...git.env, ...Object.fromEntries(added), GIT_CONFIG_COUNT: `${first + settings.length}` };
  return { ...git, env };
};

/** The environment without what ties git to another repository, as when a hook of one runs us. */
export const withoutRepository = (env: Git['env']): Git['env'] => ({
  ...env,
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_NAMESPACE: undefined,
  GIT_PREFIX: undefined,
});

export type GitInput = {
  /** Written to its standard input, then that is closed. */
  readonly input?: readonly Uint8Array[];
  /** Names of files are bytes: latin1 keeps each as one character. */
  readonly encoding?: 'utf8' | 'latin1';
  /** The largest file that it, and what it starts, may write; the kernel ends it where it goes on. */
  readonly maxFileBytes?: number | undefined;
};

const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Runs git, never with a prompt, a hook or a transport that runs programs (ext::).
 * A failure is a result, not an exception: only a missing git, a full disk and an abort are thrown.
 * @throws FleetError TOOL_MISSING, ABORTED, TOO_LARGE, DISK_FULL
 */
export const runGit = async (
  git: Git,
  args: readonly string[],
  { input = [], encoding = 'utf8', maxFileBytes }: GitInput = {},
): Promise<GitResult> => {
  const env = {
    ...git.env,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: git.env.GIT_ASKPASS ?? '',
    SSH_ASKPASS: git.env.SSH_ASKPASS ?? '',
    GIT_SSH_COMMAND: git.env.GIT_SSH_COMMAND ?? 'ssh -o BatchMode=yes',
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
    LC_ALL: 'C',
  };
  const safe = [
    '-c',
    'core.hooksPath=/dev/null',
    '-c',
    'core.symlinks=false',
    '-c',
    'advice.detachedHead=false',
  ];
  const [program, ...words] = limited(['git', ...safe, ...args], maxFileBytes);
  const child = spawn(program, words, {
    env,
    stdio: 'pipe',
    ...(git.signal && { signal: git.signal }),
  });
  // One that ends before it has read everything says why itself.
  child.stdin.on('error', () => undefined);
  Readable.from(input, { objectMode: false }).pipe(child.stdin);
  const out: Buffer[] = [];
  let size = 0;
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_OUTPUT) child.kill('SIGKILL');
    else out.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString('utf8')).slice(-8192);
  });
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  }).catch((cause: unknown) => {
    throw startFailure(cause);
  });
  if (size > MAX_OUTPUT)
    throw new FleetError('TOO_LARGE', `git ${args[0]} wrote more than ${MAX_OUTPUT} bytes`);
  if (code !== 0 && /^(?!remote:).*No space left on device/m.test(errors)) {
    throw new FleetError(
      'DISK_FULL',
      `git ${args.find((word) => !word.startsWith('-')) ?? ''}: ${lastLine(errors)}`,
      {
        hint: 'Free some space where the cache is (--cache) and run it again',
      },
    );
  }
  return { code, out: Buffer.concat(out).toString(encoding), lastLine: lastLine(errors) };
};

/** A shell sets the limit: in blocks of 512 bytes, and without a core file of what the kernel ends. */
const limited = (
  command: readonly [string, ...string[]],
  maxFileBytes: number | undefined,
): readonly [string, ...string[]] =>
  maxFileBytes === undefined
    ? command
    : [
        'sh',
        '-c',
        'ulimit -c 0; ulimit -f "$0" && exec "$@"',
        `${Math.ceil(maxFileBytes / 512)}`,
        ...command,
      ];

const startFailure = (cause: unknown): FleetError => {
  const name = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (name === 'ABORT_ERR') return new FleetError('ABORTED', 'reading repositories was stopped', { cause });
  if (name === 'ENOENT') {
    return new FleetError('TOOL_MISSING', 'the program git is not installed', {
      cause,
      hint: 'Install git, or use --map to read the repositories from directories',
    });
  }
  return new FleetError('IO', `git could not be started: ${String(cause)}`, { cause });
};

/** What git says last is the reason; lines before it are progress and advice. Credentials are taken out. */
const lastLine = (text: string): string => {
  const lines = redactText(text)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const reasons = lines.filter((line) => /^(?:fatal|error|ssh):/i.test(line));
  // It says that after the reason, whatever that was.
  return (
    reasons.findLast((line) => !/Could not read from remote/.test(line)) ??
    reasons.at(-1) ??
    lines.at(-1) ??
    ''
  );
};
