import { isSelected } from '#bundles/accept/is-selected';
import { compareBytes, type Digest } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import type { Outcome } from '#bundles/report/event';
import type { ReleasePredicate } from '#bundles/statements/predicates';
import type { Timestamp } from '#bundles/time';

/** What a channel's newest release wants, or why nobody knows. */
export type Desired =
  | {
      readonly kind: 'release';
      readonly version: number;
      readonly issuedAt: Timestamp;
      readonly expires: Timestamp;
      readonly rollout: ReleasePredicate['rollout'];
      readonly packages: ReadonlyMap<string, Digest>;
      /** Assignments that did not render: 'name: why'. */
      readonly held: readonly string[];
      /** Why the last build did not make the next release. */
      readonly waits?: readonly string[];
    }
  | { readonly kind: 'none' }
  /** It is there, but its signatures or contents are not what they should be. */
  | { readonly kind: 'refused'; readonly message: string };

/** The report that brought a word, and when. */
export type Source = {
  readonly report: Digest;
  readonly from: number;
  readonly to: number;
  /** 'stick' */
  readonly by: string;
  readonly receivedAt: Timestamp;
  readonly clockTrusted: boolean;
};

/** One cell: what was said, when it happened by the agent's clock, and how we know. */
export type Cell<T> = T & { readonly seq: number; readonly at: Timestamp; readonly source: Source };

export type Running = {
  /** null: nothing, it was deleted. */
  readonly package: Digest | null;
  readonly siteValues: Digest | null;
  readonly version: number | null;
};
export type Health = {
  readonly outcome: Outcome | null;
  readonly type: string;
  readonly code: string | null;
  readonly message: string | null;
  /** The checks that failed, as the agent told them. */
  readonly checks?: readonly FailedCheck[] | undefined;
};
/** `output`: the first bytes that its program printed. */
export type FailedCheck = { readonly name: string; readonly message: string; readonly output?: string };
export type Drift = { readonly drifted: boolean; readonly message: string | null };

export type ActualAgent = {
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  readonly labels: Readonly<Record<string, string>>;
  readonly enrolledAt: Timestamp;
  /** Has any report been taken? */
  readonly reported: boolean;
  /** Its last report, or when it last said that it is there. */
  readonly heardAt: Timestamp | null;
  /** It was on line, and is not heard any more. */
  readonly silent: boolean;
  /** Release of its last import, as it said. */
  readonly accepted: { readonly channel: string; readonly version: number; readonly at: Timestamp } | null;
  readonly states: readonly ActualState[];
};

export type ActualState = {
  readonly assignment: string;
  readonly running: Cell<Running> | null;
  readonly health: Cell<Health> | null;
  readonly drift: Cell<Drift> | null;
};

/** How what runs stands to what is wanted. Only `complies` and `not selected` need nobody. */
export type Verdict =
  | 'complies'
  /** What is wanted runs, and the agent could not check its health. */
  | 'unknown'
  | 'failed'
  | 'behind'
  | 'drifted'
  | 'missing'
  | 'extra'
  /** The rollout has not reached this agent: it stays where it is. */
  | 'not selected'
  | 'never reported'
  | 'no release'
  | 'release refused';

export type Aged<T> = T & { readonly ageSeconds: number; readonly receivedAgeSeconds: number };

export type Row = {
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  /** null: one row for an agent about which nothing else can be said. */
  readonly assignment: string | null;
  readonly heardAt: Timestamp | null;
  /** Of the agent: it was on line, and is not heard any more, so the rest of the row may be old. */
  readonly silent: boolean;
  readonly desired: {
    readonly version: number;
    readonly package: Digest;
    readonly issuedAt: Timestamp;
  } | null;
  readonly running: Aged<Cell<Running>> | null;
  readonly health: Aged<Cell<Health>> | null;
  readonly drift: Aged<Cell<Drift>> | null;
  readonly verdict: Verdict;
};

/**
 * Every assignment of every agent, wanted or running or both, sorted. Agents that were never heard of have rows too: an
 * empty place in the table is the answer to a question, not an oversight.
 * @param desired by formatChannel
 */
export const whatRunsWhere = (
  desired: ReadonlyMap<string, Desired>,
  actual: readonly ActualAgent[],
  now: Date,
): readonly Row[] =>
  actual
    .toSorted((a, b) => compareBytes(a.site, b.site) || compareBytes(a.agent, b.agent))
    .flatMap((agent) => agentRows(agent, desired.get(formatChannel(agent.channel)) ?? NONE, now));

const NONE: Desired = { kind: 'none' };

const agentRows = (agent: ActualAgent, desired: Desired, now: Date): readonly Row[] => {
  const states = new Map(agent.states.map((state) => [state.assignment, state]));
  const wanted = desired.kind === 'release' ? [...desired.packages.keys()] : [];
  const names = [...new Set([...wanted, ...states.keys()])].toSorted(compareBytes);
  const rows = names.flatMap((name) => assignmentRow(agent, name, desired, states.get(name), now) ?? []);
  if (rows.length > 0) return rows;
  const { site, agent: name, channel, heardAt, silent } = agent;
  const verdict = agent.reported ? emptyVerdict(desired) : 'never reported';
  return [
    {
      site,
      agent: name,
      channel,
      assignment: null,
      heardAt,
      silent,
      desired: null,
      running: null,
      health: null,
      drift: null,
      verdict,
    },
  ];
};

const emptyVerdict = (desired: Desired): Verdict => {
  switch (desired.kind) {
    case 'none':
      return 'no release';
    case 'refused':
      return 'release refused';
    case 'release':
      return 'complies';
  }
};

const assignmentRow = (
  { site, agent, channel, labels, reported, heardAt, silent }: ActualAgent,
  assignment: string,
  desired: Desired,
  state: ActualState | undefined,
  now: Date,
): Row | undefined => {
  const wanted = desired.kind === 'release' ? desired.packages.get(assignment) : undefined;
  const selected = desired.kind === 'release' && isSelected(desired.rollout, { site, agent }, labels);
  const verdict = reported ? judge(desired, wanted, selected, state) : 'never reported';
  if (verdict === undefined) return undefined;
  return {
    site,
    agent,
    channel,
    assignment,
    heardAt,
    silent,
    desired:
      desired.kind === 'release' && wanted !== undefined
        ? { version: desired.version, package: wanted, issuedAt: desired.issuedAt }
        : null,
    running: aged(state?.running, now),
    health: aged(state?.health, now),
    drift: aged(state?.drift, now),
    verdict,
  };
};

/** undefined: neither wanted nor there. */
const judge = (
  desired: Desired,
  wanted: Digest | undefined,
  selected: boolean,
  state: ActualState | undefined,
): Verdict | undefined => {
  const running = state?.running?.package ?? undefined;
  if (wanted === undefined && running === undefined) return undefined;
  if (isFailed(state?.health)) return 'failed';
  if (desired.kind === 'none') return 'no release';
  if (desired.kind === 'refused') return 'release refused';
  if (wanted !== running) {
    if (!selected) return 'not selected';
    if (wanted === undefined) return 'extra';
    return running === undefined ? 'missing' : 'behind';
  }
  if (state?.drift?.drifted) return 'drifted';
  return state?.health?.code === 'HEALTH_UNKNOWN' ? 'unknown' : 'complies';
};

export const isFailed = (health: Health | null | undefined): boolean =>
  health?.outcome === 'failed' || health?.type === 'rolled-back';

const aged = <T>(cell: Cell<T> | null | undefined, now: Date): Aged<Cell<T>> | null =>
  cell
    ? {
        ...cell,
        ageSeconds: secondsBetween(cell.at, now),
        receivedAgeSeconds: secondsBetween(cell.source.receivedAt, now),
      }
    : null;

/** Negative when the agent's clock runs ahead. */
const secondsBetween = (at: Timestamp, now: Date): number =>
  Math.floor((now.getTime() - new Date(at).getTime()) / 1000);
