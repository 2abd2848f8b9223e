import { FleetError } from '#bundles/errors';
import { isStartFailure, runProcess } from '#bundles/run-process';
import { withoutSecrets } from '#bundles/without-secrets';
import { redactText } from '../../model/repository-url.ts';

export type Git = {
  /** Environment for git: credentials, proxies, insteadOf. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
};

export type GitResult = { readonly code: number; readonly out: string; readonly lastLine: string };

/** Must not be a remote in the user's configuration, which would take precedence. */
export const REMOTE = 'fleet-ferry-source';

/**
 * Passes a repository's URL to git as the remote REMOTE, through the environment. The URL may contain a password, which
 * would be visible in the process list as an argument, and remain on disk in a cache's configuration.
 */
export const withRemote = (git: Git, url: string): Git =>
  withSettings(git, [
    [`remote.${REMOTE}.url`, url],
    [`remote.${REMOTE}.promisor`, 'true'],
    [`remote.${REMOTE}.partialclonefilter`, 'blob:none'],
  ]);

/** Disables redirects: a redirect could take credentials to another repository than the one that was checked. */
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

/** The environment without variables that tie git to another repository, as in a git hook. */
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
  /** Written to standard input, which is then closed. */
  readonly input?: readonly Uint8Array[];
  /** File names are bytes: latin1 keeps each as one character. */
  readonly encoding?: 'utf8' | 'latin1';
  /** Upper bound on each file that git and its child processes write; the kernel kills a process that exceeds it. */
  readonly maxFileBytes?: number | undefined;
};

const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Runs git without prompts, hooks and transports that run programs (ext::). A non-zero exit code is returned, not thrown.
 * @throws FleetError TOOL_MISSING, ABORTED, TOO_LARGE, DISK_FULL, IO
 */
export const runGit = async (
  git: Git,
  args: readonly string[],
  { input = [], encoding = 'utf8', maxFileBytes }: GitInput = {},
): Promise<GitResult> => {
  const env = {
    ...withoutSecrets(git.env),
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
    // Git's garbage collection in the background takes locks that the next fetch needs. Repositories begin anew instead (dropStaleRepository).
    '-c',
    'gc.auto=0',
    '-c',
    'maintenance.auto=false',
  ];
  const result = await runProcess(limited(['git', ...safe, ...args], maxFileBytes), {
    env,
    signal: git.signal,
    // On SIGTERM git removes its temporary and lock files.
    killSignal: 'SIGTERM',
    maxOutput: MAX_OUTPUT,
    input,
  }).catch((cause: unknown) => {
    throw isStartFailure(cause) ? startFailure(cause) : cause;
  });
  const { code, stopped, stdout, stderr: errors } = result;
  if (stopped) throw new FleetError('TOO_LARGE', `git ${args[0]} wrote more than ${MAX_OUTPUT} bytes`);
  if (code !== 0 && /^(?!remote:).*No space left on device/m.test(errors)) {
    throw new FleetError(
      'DISK_FULL',
      `git ${args.find((word) => !word.startsWith('-')) ?? ''}: ${lastLine(errors)}`,
      {
        hint: 'Free some space where the cache is (--cache) and run it again',
      },
    );
  }
  return { code, out: stdout.toString(encoding), lastLine: lastLine(errors) };
};

/** The shell sets the limit, in blocks of 512 bytes, and disables core files. */
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

const startFailure = (cause: NodeJS.ErrnoException): FleetError => {
  if (cause.code === 'ENOENT') {
    return new FleetError('TOOL_MISSING', 'the program git is not installed', {
      cause,
      hint: 'Install git, or use --map to read the repositories from directories',
    });
  }
  return new FleetError('IO', `git could not be started: ${String(cause)}`, { cause });
};

/**
 * The reason for a failure: the last relevant line of git's errors, without credentials. Lines before it are progress and
 * advice.
 */
const lastLine = (text: string): string => {
  const lines = redactText(text)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const reasons = lines.filter((line) => /^(?:fatal|error|ssh):/i.test(line));
  // Git prints this after the actual reason.
  return (
    reasons.findLast((line) => !/Could not read from remote/.test(line)) ??
    reasons.at(-1) ??
    lines.at(-1) ??
    ''
  );
};
