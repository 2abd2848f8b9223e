import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { ChangedValue } from '#bundles/formats/author-schema/changed-values';
import type { ItemDiff } from '#bundles/formats/diff/compare-items';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { paragraph, type Printed } from '#cli/format-table';
import type { Hub } from '../../hub.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { seesAssignment, seesEnvironment, type Visible } from '../../people/visible.ts';
import type { Answer } from './answer-history.ts';
import { readRunning, runningKey } from '../history/read-running.ts';
import { readDifferences } from './compare-packages.ts';
import { type NamedPackage, namePackage } from '../history/name-value.ts';
import { openReleases, type PastRelease, type Released, type Releases } from '../history/read-releases.ts';

/** One side of an assignment: the package of its newest release, and the number of agents that run it. */
export type Side = NamedPackage & {
  readonly release: number;
  readonly agents: { readonly running: number; readonly all: number };
};

/** `version`: other versions, as people know them; `configuration`: the same versions with other content. */
type Outcome = 'same' | 'version' | 'configuration' | 'only left' | 'only right';

export type Compared = {
  readonly clusterType: string;
  readonly assignment: string;
  readonly workload: string | null;
  readonly outcome: Outcome;
  readonly left: Side | null;
  readonly right: Side | null;
  /** Objects and files that differ; values of Secrets are masked. */
  readonly objects: readonly ItemDiff[];
  /** Values of configuration that differ, by name; `old` is the left one. Those that may be secrets are withheld. */
  readonly values: readonly ChangedValue[];
};

type Asked = {
  readonly left: string;
  readonly right: string;
  readonly diff?: boolean;
  /** Part of the assignments; undefined: all. */
  readonly page?: Page | undefined;
  /** Whether assignments that are the same are left out. */
  readonly differing?: boolean;
  /** Limits of what the caller may see; undefined: no limits. */
  readonly visible?: Visible | undefined;
};

const notSeen = (environment: string): FleetError =>
  new FleetError('ROLE_MISSING', `you may not read about ${environment}`, {
    subject: environment,
    hint: 'Ask an admin of the hub for a role or a token that may',
  });

/**
 * Compares the newest releases of two environments, assignment by assignment of cluster types with the same name. Packages that
 * differ only in the environment at the start of their namespaces are the same.
 * @throws FleetError CHANNEL_MISSING for an environment without a release; ROLE_MISSING for one that the caller may not read; and
 *   as listReleases
 */
export const answerCompare = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { left, right, diff = false, visible, page, differing = false }: Asked,
  now: Date,
): Promise<Answer> => {
  for (const environment of [left, right])
    if (!seesEnvironment(visible, environment)) throw notSeen(environment);
  const releases = await openReleases(hub);
  const { agents, running } = await readRunning(hub.store.db, [left, right]);
  const [ofLeft, ofRight] = [await readEnvironment(releases, left), await readEnvironment(releases, right)];
  const comparison = {
    environments: [left, right],
    releases,
    differences: readDifferences(releases),
    agents,
    running,
  } as const;
  const names = [...new Set([...ofLeft.keys(), ...ofRight.keys()])]
    .filter((name) =>
      [left, right].every((environment) => seesAssignment(visible, environment, name.split('/')[1] ?? '')),
    )
    .toSorted(compareBytes);
  const after = page?.cursor === undefined ? '' : decodeCursor(page.cursor, [''] as const)[0];
  const assignments: Compared[] = [];
  for (const name of names.filter((one) => compareBytes(one, after) > 0)) {
    // One more than the page holds says that there is a next one.
    if (page !== undefined && assignments.length > page.limit) break;
    const compared = await compareAssignment(comparison, name, [ofLeft.get(name), ofRight.get(name)]);
    if (!(differing && compared.outcome === 'same')) assignments.push(compared);
  }
  const { rows, next } = cutPage(assignments, page?.limit ?? assignments.length, (one) => [
    `${one.clusterType}/${one.assignment}`,
  ]);
  return {
    lines: [
      ...describeCompared(rows, left, right, diff),
      ...(next === null ? [] : ['', `More: --cursor ${next}`]),
    ],
    json: {
      fleet: hub.store.fleet,
      at: formatTime(now),
      left,
      right,
      total: names.length,
      assignments: rows,
      next,
    },
  };
};

type Wanted = Released & { readonly release: number };

type Comparison = Awaited<ReturnType<typeof readRunning>> & {
  readonly environments: readonly [string, string];
  readonly releases: Releases;
  readonly differences: ReturnType<typeof readDifferences>;
};

/** @param name '<cluster type>/<assignment>' */
const compareAssignment = async (
  comparison: Comparison,
  name: string,
  [one, other]: readonly [Wanted | undefined, Wanted | undefined],
): Promise<Compared> => {
  const [clusterType = '', assignment = ''] = name.split('/');
  const [environment, second] = comparison.environments;
  const [ofOne, ofOther] = [
    { environment, clusterType },
    { environment: second, clusterType },
  ];
  const left = one ? await sideOf(comparison, ofOne, assignment, one) : null;
  const right = other ? await sideOf(comparison, ofOther, assignment, other) : null;
  const { objects, values } =
    one && other && one.package !== other.package
      ? await comparison.differences(
          { released: one, channel: ofOne },
          { released: other, channel: ofOther },
          assignment,
        )
      : { objects: [], values: [] };
  const workload = (one ?? other)?.workload ?? null;
  const outcome = judge(left, right, objects);
  return { clusterType, assignment, workload, outcome, left, right, objects, values };
};

const sideOf = async (
  { releases, agents, running }: Comparison,
  channel: Channel,
  assignment: string,
  wanted: Wanted,
): Promise<Side> => ({
  ...(await namePackage(releases, channel, assignment, wanted.package)),
  release: wanted.release,
  agents: {
    running: running.get(runningKey(channel, assignment, wanted.package))?.agents ?? 0,
    all: agents.get(formatChannel(channel)) ?? 0,
  },
});

/** The packages of an environment's newest releases by '<cluster type>/<assignment>'. */
const readEnvironment = async (
  releases: Releases,
  environment: string,
): Promise<ReadonlyMap<string, Wanted>> => {
  const channels = releases.channels().filter((channel) => channel.environment === environment);
  if (channels.length === 0) {
    const known = [...new Set(releases.channels().map((channel) => channel.environment))];
    throw new FleetError('CHANNEL_MISSING', `environment ${environment} has no release`, {
      subject: environment,
      hint: known.length === 0 ? 'Build one first' : `There are releases of ${known.join(', ')}`,
    });
  }
  const wanted = new Map<string, Wanted>();
  for (const channel of channels) {
    const newest: PastRelease | undefined = (await releases.of(channel)).find(({ current }) => current);
    for (const [assignment, released] of newest?.packages ?? [])
      wanted.set(`${channel.clusterType}/${assignment}`, { ...released, release: newest?.version ?? 0 });
  }
  return wanted;
};

const judge = (left: Side | null, right: Side | null, objects: readonly ItemDiff[]): Outcome => {
  if (!left) return 'only right';
  if (!right) return 'only left';
  if (left.package === right.package) return 'same';
  const said = ({ version }: Side): string =>
    JSON.stringify([version?.version, version?.commit, version?.chart, version?.images]);
  if (said(left) !== said(right)) return 'version';
  return objects.length === 0 ? 'same' : 'configuration';
};

const describeCompared = (
  compared: readonly Compared[],
  left: string,
  right: string,
  diff: boolean,
): readonly Printed[] => {
  const same = compared.filter(({ outcome }) => outcome === 'same').length;
  return [
    ...compared
      .filter(({ outcome }) => outcome !== 'same')
      .flatMap(({ clusterType, assignment, outcome, objects, values, ...sides }) => [
        paragraph(`${clusterType}/${assignment}: ${TITLES[outcome](left, right)}`),
        ...sideLines(left, sides.left),
        ...sideLines(right, sides.right),
        ...values.map(({ name, old = 'nothing', new: now = 'nothing' }) =>
          paragraph(`${name}  ${left}: ${old}  ${right}: ${now}`, 4),
        ),
        ...objects.flatMap(({ object, outcome: change, diff: hunks }) => [
          paragraph(`${SIGNS[change]} ${object}`, 4),
          ...(diff
            ? hunks
                .trimEnd()
                .split('\n')
                .map((line) => `      ${line}`)
            : []),
        ]),
      ]),
    `${same} of ${compared.length} assignments are the same in ${left} and ${right}.`,
  ];
};

const TITLES: Readonly<Record<Outcome, (left: string, right: string) => string>> = {
  same: () => 'the same',
  version: () => 'other version',
  configuration: () => 'other configuration',
  'only left': (left) => `only in ${left}`,
  'only right': (_, right) => `only in ${right}`,
};

const SIGNS = { created: '+', configured: '~', deleted: '-' } as const;

const sideLines = (environment: string, side: Side | null): readonly Printed[] =>
  side
    ? [
        paragraph(
          `${environment} r${side.release}  ${side.name}, runs at ${side.agents.running} of ${side.agents.all} agents`,
          2,
        ),
      ]
    : [];
