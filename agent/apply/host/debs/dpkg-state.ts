import { FleetError } from '#bundles/errors';
import { type Apt, runQuietly } from './apt.ts';

/** A package as dpkg has it; `broken`: neither installed nor removed, such as half-configured. */
export type DpkgState = {
  readonly version: string;
  readonly status: 'installed' | 'removed' | 'broken';
  /** dpkg's word for the state: 'half-configured'. */
  readonly word: string;
  /** dpkg works on it only after it was unpacked again: 'reinstreq', which a power cut in an upgrade or removal leaves. */
  readonly unpackAgain: boolean;
  readonly hold: boolean;
};

/** All packages of the host by name; packages of another architecture as 'libc6:i386'. @throws FleetError DEB_FAILED */
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
  if (code !== 0) throw new FleetError('DEB_FAILED', `dpkg-query ended with ${code}: ${stderr.trim()}`);
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
  if (word === 'installed' || word.startsWith('triggers-')) return 'installed';
  return word === 'config-files' ? 'removed' : 'broken';
};
