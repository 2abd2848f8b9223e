import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COMMAND_ENV, type CommandResult, type Run } from '../host-options.ts';
import type { InvokeHooks } from './invoke-hooks.ts';

/** How apt is called: it sees one repository, and nothing of the host's sources, lists, caches and configuration. */
export type Apt = {
  readonly run: Run;
  readonly signal: AbortSignal;
  /** Folder of the repository: `Packages` and the packages. */
  readonly repository: string;
  /** Folder for configuration, lists and caches, as `prepareApt` makes it. */
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

const INDEX = 'Packages';
const CONFIG = 'apt.conf';
const DPKG = 'dpkg';

/**
 * dpkg reads its configuration files, also ~/.dpkg.cfg, before its arguments, and nothing turns that off. So the arguments take back
 * what files can set: dpkg forces what it does by default, installs every path, below '/', and checks no signature of a single
 * package, as the agent has verified the release. Maintainer scripts and what they start do not see the configuration of apt that
 * this step has.
 */
const DPKG_SCRIPT = `#!/bin/sh
unset APT_CONFIG
exec dpkg --root=/ --no-force-all --force-security-mac,downgrade '--path-include=*' --no-debsig "$@"
`;

/** Makes the folder for configuration, lists and caches. `status`: path of a status file that apt reads in place of dpkg's. */
export const prepareApt = async (
  apt: Apt,
  { hooks, status }: { readonly hooks?: InvokeHooks; readonly status?: string } = {},
): Promise<void> => {
  const { repository, scratch } = apt;
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(scratch, folder), { recursive: true, mode: 0o700 });
  const index = await readFile(join(repository, INDEX), 'utf8').catch(() => '');
  await writeFile(join(scratch, 'preferences'), preferRepository(index));
  await writeFile(join(scratch, DPKG), DPKG_SCRIPT, { mode: 0o700 });
  await writeFile(join(scratch, CONFIG), configOf(apt, hooks, status));
};

/** apt reads the file of APT_CONFIG before all others, and this one names no others (apt.conf(5)). */
const configOf = (
  { scratch, lockSeconds }: Apt,
  hooks: InvokeHooks | undefined,
  status: string | undefined,
): string => {
  const settings: readonly (readonly [string, string])[] = [
    ['Dir::Etc::main', '/dev/null'],
    ['Dir::Etc::parts', '/dev/null'],
    ['Dir::Etc::SourceList', '/dev/null'],
    ['Dir::Etc::SourceParts', '/dev/null'],
    ['Dir::Etc::Preferences', join(scratch, 'preferences')],
    ['Dir::Etc::PreferencesParts', '/dev/null'],
    ['Dir::State::Lists', join(scratch, 'lists')],
    ['Dir::Cache', join(scratch, 'cache')],
    ['Dir::Bin::dpkg', join(scratch, DPKG)],
    ['Acquire::Languages', 'none'],
    // Only root can enter the folders of a step; apt's own user cannot.
    ['APT::Sandbox::User', 'root'],
    ['APT::Install-Recommends', 'false'],
    ['APT::Get::AutomaticRemove', 'false'],
    ['DPkg::Lock::Timeout', String(lockSeconds)],
    ...(status === undefined ? [] : [['Dir::State::status', status] as const]),
    ...(hooks?.before ?? []).map((program) => ['DPkg::Pre-Invoke::', program] as const),
    ...(hooks?.after ?? []).map((program) => ['DPkg::Post-Invoke::', program] as const),
  ];
  return settings.map(([name, value]) => `${name} "${value}";\n`).join('');
};

/**
 * Prefers what the repository has to newer versions on the host. After a power cut on the way to an older version dpkg asks for the
 * package again, and apt takes the preferred version for it before it reads its arguments.
 */
const preferRepository = (index: string): string =>
  index
    .split('\n\n')
    .flatMap((entry) => {
      const [, name] = /^Package: (\S+)$/m.exec(entry) ?? [];
      const [, version] = /^Version: (\S+)$/m.exec(entry) ?? [];
      if (name === undefined || version === undefined) return [];
      return `Package: ${name}\nPin: version ${version}\nPin-Priority: 1001\n`;
    })
    .join('\n');
