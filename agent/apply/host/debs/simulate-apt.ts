import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { DebRelease, DebsRequest } from '../step-request.ts';
import { type Apt, aptGet, prepareApt } from './apt.ts';

/** One change that apt announces. `from`: the version on the host; `to`: the version after it; null for none. */
export type AptChange = {
  readonly name: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly isDowngrade?: true;
};

type Goal = Pick<DebsRequest, 'install' | 'remove'>;

/** The words of apt-get for a goal. Downgrades and changes of held packages are meant where the release says so. */
export const wordsOf = ({ install, remove }: Goal): readonly string[] => [
  '--allow-downgrades',
  '--allow-change-held-packages',
  'install',
  '--',
  ...install.map(({ name, version }: DebRelease) => `${name}=${version}`),
  ...remove.map(({ name }) => `${name}-`),
];

/**
 * Returns the changes that apt would make on this host to reach the goal, sorted by name. Changes nothing.
 * @throws FleetError DEB_UNMET with the dependencies that are missing
 */
export const simulateApt = async (apt: Apt, goal: Goal): Promise<readonly AptChange[]> => {
  await prepareApt(apt);
  const { code, stdout, stderr } = await aptGet(apt, ['--simulate', ...wordsOf(goal)]);
  if (code !== 0) throw unmet(stdout, stderr);
  const downgraded = readDowngraded(stdout);
  return stdout
    .split('\n')
    .flatMap((line) => readChange(line) ?? [])
    .map((change) => (downgraded.has(change.name) ? { ...change, isDowngrade: true as const } : change))
    .toSorted((a, b) => compareBytes(a.name, b.name));
};

/** Names below 'The following packages will be DOWNGRADED:', in indented lines. */
const readDowngraded = (stdout: string): ReadonlySet<string> => {
  const [, names = ''] = /^The following packages will be DOWNGRADED:\n((?: .*\n)+)/m.exec(stdout) ?? [];
  return new Set(names.split(/\s+/));
};

/** 'hello 2.9 -> 2.10', 'libgreet new 1.0', 'old 1.0 removed'. */
export const describeChange = ({ name, from, to }: AptChange): string => {
  if (to === null) return `${name} ${from} removed`;
  return from === null ? `${name} new ${to}` : `${name} ${from} -> ${to}`;
};

/** A change without the version before it, which repairing an interrupted dpkg may alter: 'hello 2.10', 'old removed'. */
export const goalOfChange = ({ name, to }: AptChange): string => `${name} ${to ?? 'removed'}`;

/** 'Inst hello [2.9] (2.10 label [amd64])', 'Remv old [1.0]'; other lines are no changes. */
const readChange = (line: string): AptChange | undefined => {
  const installed = /^Inst (\S+) (?:\[(\S+)\] )?\((\S+) /.exec(line);
  if (installed) {
    const [, name = '', from, to = ''] = installed;
    return from === to ? undefined : { name, from: from ?? null, to };
  }
  const removed = /^(?:Remv|Purg) (\S+) \[(\S+)\]/.exec(line);
  return removed ? { name: removed[1] ?? '', from: removed[2] ?? '', to: null } : undefined;
};

/** ' hello : Depends: libgreet (>= 2) but it is not installable', and further lines of the same package. */
const unmet = (stdout: string, stderr: string): FleetError => {
  const lines = [...stdout.matchAll(/^ (\S+) : (.+(?:\n {3,}.+)*)/gm)].map(
    ([, name, rest = '']) =>
      `${name} ${rest.replaceAll(/\s+/g, ' ').replace(/^([A-Z])/, (it) => it.toLowerCase())}`,
  );
  const hint = 'Bring the missing packages along in debs, or install them on the host';
  if (lines.length > 0)
    return new FleetError('DEB_UNMET', `apt cannot install what the package brings: ${lines.join('; ')}`, {
      hint,
    });
  return new FleetError('DEB_UNMET', `apt cannot install what the package brings: ${firstError(stderr)}`, {
    hint,
  });
};

/** The first 'E: ' line of apt, or the first line. */
export const firstError = (stderr: string): string => {
  const lines = stderr.split('\n').map((line) => line.trim());
  const error = lines.find((line) => line.startsWith('E: '));
  return error?.slice(3) ?? lines.find((line) => line !== '') ?? 'it said nothing';
};
