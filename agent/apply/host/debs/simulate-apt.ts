import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { DebRelease, DebsRequest } from '../step-request.ts';
import { type Apt, aptGet, aptGetHere } from './apt.ts';
import { repairCommands, blocksApt, readDpkg } from './dpkg-state.ts';
import { firstError } from './first-error.ts';

/** One change that apt announces. `from`: the version on the host; `to`: the version after it; null for none. */
export type AptChange = {
  readonly name: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly isDowngrade?: true;
};

type Goal = Pick<DebsRequest, 'install' | 'remove'>;

/**
 * The words of apt-get for a goal. Downgrades and changes of held packages are meant where the release says so. What the agent
 * installed it can remove, also an essential or protected package; a removal of any other is refused by the plan.
 */
export const aptArguments = ({ install, remove }: Goal): readonly string[] => [
  '--allow-downgrades',
  '--allow-change-held-packages',
  ...(remove.length > 0 ? ['--allow-remove-essential'] : []),
  'install',
  '--',
  ...install.map(({ name, version }: DebRelease) => `${name}=${version}`),
  ...remove.map(({ name }) => `${name}-`),
];

/**
 * Returns the changes that apt would make on this host to reach the goal, sorted by name. Changes nothing. `apt` is prepared.
 * @throws FleetError DEB_UNMET with the dependencies that are missing; DEB_BLOCKED if apt does nothing on this host because of packages
 *   that are not in the goal
 */
export const simulateApt = async (apt: Apt, goal: Goal): Promise<readonly AptChange[]> => {
  const { code, stdout, stderr } = await aptGet(apt, ['--simulate', ...aptArguments(goal)]);
  if (code !== 0) throw (await findHostFault(apt, goal)) ?? unmet(stdout, stderr);
  const downgraded = readDowngraded(stdout);
  return stdout
    .split('\n')
    .flatMap((line) => readChange(line) ?? [])
    .map((change) => (downgraded.has(change.name) ? { ...change, isDowngrade: true as const } : change))
    .toSorted((a, b) => compareBytes(a.name, b.name));
};

/**
 * Asks apt to do nothing at all. Where it refuses even that, the host is not in order, whatever the release brings: undefined if only
 * packages of the goal are at fault.
 */
const findHostFault = async (apt: Apt, { install, remove }: Goal): Promise<FleetError | undefined> => {
  const { code, stdout, stderr } = await aptGetHere(apt, ['--simulate', 'install']);
  if (code === 0) return undefined;
  const goal = new Set([...install, ...remove].map(({ name }) => name));
  const dpkg = await readDpkg(apt);
  const stuck = [...dpkg].filter(([, state]) => blocksApt(state));
  const lines = unmetLines(stdout);
  const others = [...lines.map(({ name }) => name), ...stuck.map(([name]) => name)];
  if (others.length > 0 && others.every((name) => goal.has(name))) return undefined;
  const line = lines.find(({ name }) => !goal.has(name));
  const [name] = stuck.find(([one]) => !goal.has(one)) ?? [];
  if (line === undefined && name === undefined)
    return new FleetError('DEB_BLOCKED', `apt does not work on this host: ${firstError(stderr)}`, {
      hint: '"apt-get check" on the host shows it; the agent tries again',
    });
  const why = line ? `${line.name} ${line.text}` : `${name} is ${dpkg.get(name ?? '')?.word}`;
  return new FleetError(
    'DEB_BLOCKED',
    `apt installs nothing on this host until a Debian package that is not of this release is in order: ${why}`,
    { hint: line ? helpsUnmet(line.name) : repairCommands(name ?? '', dpkg.get(name ?? '')) },
  );
};

const helpsUnmet = (name: string): string =>
  `"apt-get --fix-broken install" or "dpkg --remove ${name}" on the host helps; the agent tries again`;

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
const unmetLines = (stdout: string): readonly { readonly name: string; readonly text: string }[] =>
  [...stdout.matchAll(/^ (\S+) : (.+(?:\n {3,}.+)*)/gm)].map(([, name = '', rest = '']) => ({
    name,
    text: rest.replaceAll(/\s+/g, ' ').replace(/^([A-Z])/, (it) => it.toLowerCase()),
  }));

const unmet = (stdout: string, stderr: string): FleetError => {
  const lines = unmetLines(stdout).map(({ name, text }) => `${name} ${text}`);
  const why = lines.length > 0 ? lines.join('; ') : firstError(stderr);
  return new FleetError('DEB_UNMET', `apt cannot install what the package brings: ${why}`, {
    hint: 'Bring the missing packages along in debs, or install them on the host',
  });
};
