import { basename } from 'node:path';
import { type DpkgState, repairCommands } from '../debs/dpkg-state.ts';
import { fatalError } from '../debs/fatal-error.ts';
import type { CommandResult } from '../host-options.ts';
import type { DebsRequest } from '../step-request.ts';

/** Why a step failed. `surroundings`: the cause is on the host, not in the release; what helps, without the full stop. */
export type DebsFault = { readonly message: string; readonly surroundings?: string };

type Dpkg = ReadonlyMap<string, DpkgState>;

/**
 * Judges a transaction by what dpkg has afterwards; the exit code of apt is about all packages of the host. Returns undefined if the goal
 * is reached. Another package that was broken before is the cause only where it keeps one of the goal from being configured.
 */
export const faultOf = (
  request: Goal,
  ended: CommandResult,
  before: Dpkg,
  after: Dpkg,
): DebsFault | undefined => {
  const missed = notReached(after, request);
  if (missed === undefined) return undefined;
  if (ended.code === 0) return { message: missed };
  const goal = namesOf(request);
  const errors = readErrors(ended, after);
  const others = errors.filter(({ name }) => !goal.has(name) && before.get(name)?.status === 'broken');
  const own = errors.find((error) => {
    if (others.length === 0) return true;
    // dpkg leaves a package unpacked that depends on one that is not configured, and runs none of its scripts.
    return !others.includes(error) && after.get(error.name)?.word !== 'unpacked';
  });
  if (own) return { message: `${own.name}: ${own.text}` };
  const [other] = others;
  if (other)
    return {
      message: describeOther(other, after),
      surroundings: repairCommands(other.name, after.get(other.name)),
    };
  return {
    message: `apt or dpkg failed on this host: ${fatalError(ended)}`,
    surroundings: '/var/log/apt/term.log shows the output; the agent tries again',
  };
};

/** Describes what failed on the host although the goal was reached: another package, or a hook; undefined for nothing. */
export const noteOf = (request: Goal, ended: CommandResult, after: Dpkg): string | undefined => {
  if (ended.code === 0) return undefined;
  const goal = namesOf(request);
  const other = readErrors(ended, after).find(({ name }) => !goal.has(name));
  return other ? describeOther(other, after) : `apt said: ${fatalError(ended)}`;
};

type Goal = Pick<DebsRequest, 'install' | 'remove'>;

const namesOf = ({ install, remove }: Goal): ReadonlySet<string> =>
  new Set([...install, ...remove].map(({ name }) => name));

const describeOther = ({ name, text }: DpkgError, dpkg: Dpkg): string =>
  `${name}, which is not of this release, is ${dpkg.get(name)?.word ?? 'removed'}: ${text}`;

type DpkgError = { readonly name: string; readonly text: string };

/** The packages that dpkg could not process, by their names in `dpkg`, with the first line of the reason. */
const readErrors = ({ stdout, stderr }: CommandResult, dpkg: Dpkg): readonly DpkgError[] =>
  // apt runs dpkg on a pseudo-terminal: the output of dpkg and maintainer scripts is in apt's standard output.
  [
    ...`${stderr}\n${stdout}`.matchAll(
      /dpkg: error processing (?:package|archive) (\S+) \([^)]*\):\r?\n\s*(.+)/g,
    ),
  ].map(([, what = '', text = '']) => {
    // A package that fails before it is unpacked is named by its file, 'hello_2.10_all.deb', and a library by its architecture, too.
    const [full = ''] = basename(what).split('_');
    return { name: dpkg.has(full) ? full : full.replace(/:.*/, ''), text: text.trim() };
  });

/** The first package that is not as the goal says: apt ends with 0 for some hooks that failed. */
const notReached = (dpkg: Dpkg, { install, remove }: Goal): string | undefined => {
  const missed = install.find(({ name, version }) => {
    const state = dpkg.get(name);
    return state?.status !== 'installed' || state.version !== version;
  });
  if (missed) {
    const state = dpkg.get(missed.name);
    return `${missed.name} is ${state ? `${state.word} ${state.version}` : 'missing'}, not installed at ${missed.version}`;
  }
  const left = remove.find(({ name }) => (dpkg.get(name)?.status ?? 'removed') !== 'removed');
  return left && `${left.name} is ${dpkg.get(left.name)?.word}, not removed`;
};
