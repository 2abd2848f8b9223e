import { FleetError } from '#bundles/errors';
import { type Apt, runQuietly } from './apt.ts';

/** A package as dpkg has it; `broken`: neither installed nor removed, such as half-configured, or waiting for a trigger. */
export type DpkgState = {
  readonly version: string;
  readonly status: 'installed' | 'removed' | 'broken';
  /** dpkg's word for the state: 'half-configured'. */
  readonly word: string;
  /** dpkg works on it only after it was unpacked again: 'reinstreq', which a power cut in an upgrade or removal leaves. */
  readonly unpackAgain: boolean;
  readonly hold: boolean;
};

/** All packages of the host by name; packages of another architecture as 'libc6:i386'. @throws FleetError DEB_FAILED without dpkg; DEB_BLOCKED */
export const readDpkg = async (
  tools: Pick<Apt, 'run' | 'signal'>,
): Promise<ReadonlyMap<string, DpkgState>> => {
  const format =
    '${Package}\t${Architecture}\t${Version}\t${db:Status-Want}\t${db:Status-Eflag}\t${db:Status-Status}\n';
  const { code, stdout, stderr } = await runQuietly(tools, [
    'dpkg-query',
    '--show',
    `--showformat=${format}`,
  ]);
  if (code === 127)
    throw new FleetError('DEB_FAILED', 'this host has no dpkg, so no Debian packages can be installed on it');
  if (code !== 0)
    throw new FleetError(
      'DEB_BLOCKED',
      `dpkg-query ended with ${code}: ${stderr.trim().replaceAll(/\s+/g, ' ')}`,
      {
        hint: 'Mend the database of dpkg on the host; /var/lib/dpkg/status-old and /var/backups have earlier ones. The agent tries again',
      },
    );
  const rows = stdout.split('\n').map((line) => line.split('\t'));
  const native = rows.find(([name]) => name === 'dpkg')?.[1];
  return new Map(
    rows.flatMap(([name = '', architecture = '', version = '', want, flag, word = '']) => {
      if (name === '' || word === 'not-installed') return [];
      // As apt names it; ${binary:Package} has the native architecture of libraries, too.
      const isNative = native === undefined || architecture === native || architecture === 'all';
      const key = isNative ? name : `${name}:${architecture}`;
      const state = {
        version,
        word,
        unpackAgain: flag === 'reinstreq',
        hold: want === 'hold',
        status: statusOf(word, flag),
      } as const;
      return [[key, state] as const];
    }),
  );
};

const statusOf = (word: string, flag: string | undefined): DpkgState['status'] => {
  if (flag !== 'ok') return 'broken';
  if (word === 'installed') return 'installed';
  return word === 'config-files' ? 'removed' : 'broken';
};

/** True if apt works on no package before this one is unpacked again or removed. */
export const blocksApt = (state: DpkgState | undefined): boolean =>
  state !== undefined && (state.unpackAgain || state.word === 'half-installed');

/** Returns the commands with which an administrator mends a package that is not of the release, as a sentence without its full stop. */
export const repairCommands = (name: string, state: DpkgState | undefined): string =>
  blocksApt(state)
    ? `"apt-get install --reinstall ${name}" or "dpkg --remove --force-remove-reinstreq ${name}" on the host helps; the agent tries again`
    : `"dpkg --configure ${name}" on the host shows why; "dpkg --remove ${name}" removes it; the agent tries again`;
