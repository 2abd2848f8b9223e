import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COMMAND_ENV, type CommandResult, type Run } from '../host-options.ts';

/** How apt is called: it sees one repository, and nothing of the host's sources, lists and caches. */
export type Apt = {
  readonly run: Run;
  readonly signal: AbortSignal;
  /** Folder of the repository: `Packages` and the packages. */
  readonly repository: string;
  /** Folder for lists and caches, as `prepareApt` makes it. */
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

/** Runs apt-get with the repository as its only source. It needs no `apt-get update`: apt reads the index where it is, and trusts it. */
export const aptGet = (
  apt: Apt,
  words: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<CommandResult> => {
  const { repository, scratch, lockSeconds } = apt;
  const index = join(repository, INDEX);
  const settings = [
    'Dir::Etc::SourceList=/dev/null',
    'Dir::Etc::SourceParts=/dev/null',
    `Dir::Etc::Preferences=${join(scratch, 'preferences')}`,
    'Dir::Etc::PreferencesParts=/dev/null',
    `Dir::State::Lists=${join(scratch, 'lists')}`,
    `Dir::Cache=${join(scratch, 'cache')}`,
    'Acquire::Languages=none',
    // Only root can enter the folders of a step; apt's own user cannot.
    'APT::Sandbox::User=root',
    'APT::Install-Recommends=false',
    'APT::Get::AutomaticRemove=false',
    `DPkg::Lock::Timeout=${lockSeconds}`,
  ];
  const options = [
    ...settings.flatMap((one) => ['-o', one]),
    ...(existsSync(index) ? ['--with-source', index] : []),
  ];
  return runQuietly(apt, ['apt-get', '-q', ...options, ...words], env);
};

const INDEX = 'Packages';

/** Makes the folder for lists and caches. */
export const prepareApt = async ({ repository, scratch }: Apt): Promise<void> => {
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(scratch, folder), { recursive: true, mode: 0o700 });
  const index = await readFile(join(repository, INDEX), 'utf8').catch(() => '');
  await writeFile(join(scratch, 'preferences'), preferRepository(index));
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
