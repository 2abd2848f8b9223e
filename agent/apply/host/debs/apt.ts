import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { COMMAND_ENV, type CommandResult, type Run } from '../host-options.ts';

/** Name of the index in the repository. */
export const INDEX = 'Packages';
/** Names of the configuration and of the script for dpkg in the scratch folder. */
export const CONFIG = 'apt.conf';
export const DPKG = 'dpkg';

/** How apt is called: it sees one repository, and nothing of the host's sources, lists, caches and configuration. */
export type Apt = {
  readonly run: Run;
  readonly signal: AbortSignal;
  /** Folder of the repository: `Packages` and the packages. */
  readonly repository: string;
  /** Folder for configuration, lists and caches, as prepare-apt.ts makes it. */
  readonly scratch: string;
  /** How long apt waits for the locks of dpkg. */
  readonly lockSeconds: number;
};

/** The programs have the limit of their step, which aborts the signal. */
const NO_LIMIT_MS = 0x7fff_ffff;

/** Nothing asks a question: not debconf, not dpkg about conffiles, not the hooks of other tools. */
const QUIET = {
  ...COMMAND_ENV,
  HOME: '/root',
  DEBIAN_FRONTEND: 'noninteractive',
  DEBCONF_NONINTERACTIVE_SEEN: 'true',
  // Not ~/.debconfrc of root (debconf(7)).
  DEBCONF_SYSTEMRC: '/etc/debconf.conf',
  APT_LISTCHANGES_FRONTEND: 'none',
  APT_LISTBUGS_FRONTEND: 'none',
  NEEDRESTART_SUSPEND: '1',
} as const;

/** Runs a program of apt or dpkg. A non-zero exit code is a result. */
export const runQuietly = (
  { run, signal }: Pick<Apt, 'run' | 'signal'>,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> =>
  run(argv, { timeoutMs: NO_LIMIT_MS, signal, cwd: '/', env: { ...QUIET, ...env } });

/** Runs a program of apt that reads nothing of the host's configuration of apt. */
export const runSealed = (
  apt: Apt,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> => runQuietly(apt, argv, { ...env, APT_CONFIG: join(apt.scratch, CONFIG) });

/** Runs apt-get with the repository as its only source. It needs no `apt-get update`: apt reads the index where it is, and trusts it. */
export const aptGet = (
  apt: Apt,
  words: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<CommandResult> => {
  const index = join(apt.repository, INDEX);
  const source = existsSync(index) ? ['--with-source', index] : [];
  return runSealed(apt, ['apt-get', '-q', ...source, ...words], env);
};

/** Runs apt-get on what the host has, without the repository. */
export const aptGetHere = (apt: Apt, words: readonly string[]): Promise<CommandResult> =>
  runSealed(apt, ['apt-get', '-q', ...words]);

/** The arguments that run dpkg as apt runs it here. */
export const dpkgArgv = ({ scratch }: Apt, ...words: readonly string[]): readonly string[] => [
  join(scratch, DPKG),
  ...words,
];
