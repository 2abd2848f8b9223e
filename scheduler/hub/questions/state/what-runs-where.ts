import { isSelected } from '#bundles/trust/accept/is-selected';
import { compareBytes, type Digest } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import type { Outcome } from '#bundles/formats/events/event';
import type { ReleasePredicate } from '#bundles/formats/statements/predicates';
import type { Timestamp } from '#bundles/time';
import { isFailed } from '../../../model/event-steps.ts';
import type { FollowerKind } from '../../store/tables.ts';
import {
  type Freshness,
  type FreshnessPolicies,
  freshnessOf,
  freshnessPolicyFor,
  NO_AGEING,
} from './freshness.ts';
import type { RebootRequired, RebootState } from '../../store/reboot-state.ts';

/** The desired state of a channel, or why it is unknown. */
export type Desired =
  | {
      readonly kind: 'release';
      readonly version: number;
      readonly issuedAt: Timestamp;
      readonly expires: Timestamp;
      readonly rollout: ReleasePredicate['rollout'];
      readonly packages: ReadonlyMap<string, Digest>;
      /** Workspace of each assignment, if its bundle names one. */
      readonly teams?: ReadonlyMap<string, Team>;
      /** Held assignments: 'name: why'. */
      readonly held: readonly string[];
      /** Assignments among them that a person took back. */
      readonly takenBack?: ReadonlySet<string>;
      /** Why the last build did not release the channel. */
      readonly waits?: readonly string[];
    }
  | { readonly kind: 'none' }
  /** There is a release, but its signatures or contents are invalid. */
  | { readonly kind: 'refused'; readonly message: string };

export type Team = { readonly workspace?: string; readonly workload?: string };

/** The report that a cell comes from. */
export type Source = {
  readonly report: Digest;
  readonly from: number;
  readonly to: number;
  /** 'stick', 'network', or of a follower its kind: 'flux', 'argo-cd' or 'rancher-fleet'. */
  readonly by: string;
  readonly receivedAt: Timestamp;
  readonly clockTrusted: boolean;
};

/** A reported value: the event's sequence number, its time by the agent's clock, and the report it comes from. */
export type Cell<T> = T & { readonly seq: number; readonly at: Timestamp; readonly source: Source };

export type Running = {
  /** null: nothing runs; the package was deleted. */
  readonly package: Digest | null;
  readonly siteValues: Digest | null;
  readonly version: number | null;
};
export type Health = {
  readonly outcome: Outcome | null;
  readonly type: string;
  readonly code: string | null;
  readonly message: string | null;
  /** The failed checks, as the agent reported them. */
  readonly checks?: readonly FailedCheck[] | undefined;
};
/** `output`: the first bytes that the check printed. */
export type FailedCheck = { readonly name: string; readonly message: string; readonly output?: string };
export type Drift = { readonly drifted: boolean; readonly message: string | null };

/** An operator keeps the machine as it is, until a time or, with null, until it is released. */
export type SiteHold = {
  readonly since: Timestamp;
  readonly until: Timestamp | null;
  readonly by: string | null;
  readonly reason: string | null;
};

/** `at`: when it compared all packages that are not named; null: unknown, or never. */
export type Looks = {
  readonly at: Timestamp | null;
  readonly packages: Readonly<Record<string, Timestamp | null>>;
};

export type ActualAgent = {
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  readonly labels: Readonly<Record<string, string>>;
  readonly enrolledAt: Timestamp;
  /** Whether any report has been accepted. */
  readonly reported: boolean;
  /** Time of the last report or presence message. */
  readonly heardAt: Timestamp | null;
  /** The newest time that its words describe (AgentRow.said_at). */
  readonly saidAt: Timestamp | null;
  /** Times of packages that it compared at another time than the others; absent: there are none. */
  readonly looks?: Looks;
  /** Its service, which looks regularly, does not run, as it reported. */
  readonly stopped?: boolean;
  /** It was online and has since missed its presence messages (silentSince). */
  readonly silent: boolean;
  /** Whether it was ever heard over the network; otherwise its reports come on media. */
  readonly online: boolean;
  /** The hold that an operator reported and did not end; null also when its time is over. */
  readonly held: SiteHold | null;
  /** Its reports about reboots of its host; absent: none. */
  readonly reboot?: RebootState;
  /** Kind of the follower that reports for it; null: an agent that signs its reports. */
  readonly follower: FollowerKind | null;
  /** Release of its last import, as reported. */
  readonly accepted: { readonly channel: string; readonly version: number } | null;
  readonly states: readonly ActualState[];
};

/** The state of an assignment. @typeParam R what is known of the running package */
export type StateOf<R> = {
  readonly assignment: string;
  readonly running: R | null;
  readonly health: Cell<Health> | null;
  readonly drift: Cell<Drift> | null;
};
export type ActualState = StateOf<Cell<Running>>;

/** Comparison of the running with the desired package. Only `complies`, `not selected` and `held` need no attention. */
export type Verdict =
  | 'complies'
  /** It complied when it was last heard, longer ago than its freshness policy lets a word count. */
  | 'stale'
  /** The desired package runs, but the agent could not check its health. */
  | 'unknown'
  | 'failed'
  | 'behind'
  | 'drifted'
  | 'missing'
  | 'extra'
  /** The rollout does not include this agent yet. It keeps the running package. */
  | 'not selected'
  /** It differs from the desired package because an operator holds the machine. */
  | 'held'
  | 'never reported'
  | 'no release'
  | 'release refused';

export type Aged<T> = T & { readonly ageSeconds: number; readonly receivedAgeSeconds: number };

export type Row = {
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  /** null: the only row of an agent without assignments. */
  readonly assignment: string | null;
  readonly heardAt: Timestamp | null;
  /** The agent is silent, so the rest of the row may be outdated. */
  readonly silent: boolean;
  /** The service of the agent does not run, so nothing looks after this row. */
  readonly stopped: boolean;
  /** When the agent last compared this assignment; of an agent that does not say, its last word. */
  readonly saidAt: Timestamp | null;
  /** Age of `saidAt`; null: it never spoke, or never compared the assignment. */
  readonly saidAgeSeconds: number | null;
  readonly freshness: Freshness;
  readonly held: SiteHold | null;
  /** The reboot that its host needs; null: none that it reported. */
  readonly reboot: RebootRequired | null;
  /** Kind of the follower whose unsigned notifications the row is from; null: reports of an agent. */
  readonly follower: FollowerKind | null;
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
 * Compares desired and reported state: one row per assignment of each agent that is desired or running, sorted by site, agent
 * and assignment. Every agent has at least one row, including agents that never reported.
 * @param desired by formatChannel @param freshness without policies words do not age
 */
export const whatRunsWhere = (
  desired: ReadonlyMap<string, Desired>,
  actual: readonly ActualAgent[],
  now: Date,
  { policies }: FreshnessPolicies = NO_AGEING,
): readonly Row[] =>
  actual
    .toSorted((a, b) => compareBytes(a.site, b.site) || compareBytes(a.agent, b.agent))
    .flatMap((agent) => {
      const policy = freshnessPolicyFor(policies, agent.channel);
      const wanted = desired.get(formatChannel(agent.channel)) ?? NONE;
      const freshness = (saidAt: Timestamp | null) =>
        freshnessOf(agent.reported ? saidAt : null, policy, now);
      return agentRows(agent, wanted, freshness, now);
    });

export const NONE: Desired = { kind: 'none' };

const agentRows = (
  agent: ActualAgent,
  desired: Desired,
  freshnessAt: (saidAt: Timestamp | null) => Freshness,
  now: Date,
): readonly Row[] => {
  const common = agentFields(agent);
  return judgeAssignments(desired, agent).map(({ assignment, running, health, drift, verdict }) => {
    const saidAt = lookedAt(agent, assignment);
    const freshness = freshnessAt(saidAt);
    return {
      ...common,
      saidAt,
      saidAgeSeconds: saidAt === null ? null : secondsBetween(saidAt, now),
      freshness,
      assignment,
      desired: assignment === null ? null : wantedOf(desired, assignment),
      running: aged(running, now),
      health: aged(health, now),
      drift: aged(drift, now),
      verdict: withStaleness(verdict, freshness),
    };
  });
};

const lookedAt = ({ saidAt, looks }: ActualAgent, assignment: string | null): Timestamp | null => {
  if (!looks || assignment === null) return saidAt;
  const { [assignment]: own = looks.at } = looks.packages;
  return own;
};

/** The judgement of one assignment, without ages: neither the clock nor the age of the last report changes it. */
export type JudgedAssignment<R = Cell<Running>> = Pick<Row, 'assignment' | 'verdict'> &
  Omit<StateOf<R>, 'assignment'>;

/** Compares the assignments of one agent with the release of its channel, as whatRunsWhere, whose rows have this order. */
export const judgeAssignments = <R extends Pick<Running, 'package'>>(
  desired: Desired,
  agent: Omit<ActualAgent, 'states'> & { readonly states: readonly StateOf<R>[] },
): readonly JudgedAssignment<R>[] => {
  const states = new Map<string, Partial<StateOf<R>>>(agent.states.map((state) => [state.assignment, state]));
  const wanted = desired.kind === 'release' ? [...desired.packages.keys()] : [];
  const names = [...new Set([...wanted, ...states.keys()])].toSorted(compareBytes);
  const selected = isReached(desired, agent);
  const judged = names.flatMap((assignment) => {
    const { running = null, health = null, drift = null } = states.get(assignment) ?? {};
    const wants = desired.kind === 'release' ? desired.packages.get(assignment) : undefined;
    const verdict = agent.reported
      ? judge(desired, wants, selected, { running, health, drift })
      : 'never reported';
    return verdict === undefined
      ? []
      : [{ assignment, running, health, drift, verdict: asHeld(verdict, agent) }];
  });
  if (judged.length > 0) return judged;
  const verdict = agent.reported ? emptyVerdict(desired) : 'never reported';
  return [{ assignment: null, running: null, health: null, drift: null, verdict }];
};

/** Whether the rollout of the release reaches the agent. */
export const isReached = (desired: Desired, agent: Pick<ActualAgent, 'site' | 'agent' | 'labels'>): boolean =>
  desired.kind === 'release' && isSelected(desired.rollout, agent, agent.labels);

type AgentFields = Pick<
  Row,
  'site' | 'agent' | 'channel' | 'heardAt' | 'silent' | 'stopped' | 'held' | 'reboot' | 'follower'
>;

const agentFields = ({
  site,
  agent,
  channel,
  heardAt,
  silent,
  stopped = false,
  held,
  reboot,
  follower,
}: ActualAgent): AgentFields => ({
  site,
  agent,
  channel,
  heardAt,
  silent,
  stopped,
  held,
  reboot: reboot?.required ?? null,
  follower,
});

/** Verdict for an agent that is held. A failure stays a failure. */
const HELD_BACK: ReadonlySet<Verdict> = new Set<Verdict>(['behind', 'missing', 'extra', 'drifted']);

const asHeld = (verdict: Verdict, { held }: Pick<ActualAgent, 'held'>): Verdict =>
  held !== null && HELD_BACK.has(verdict) ? 'held' : verdict;

/** Age outranks compliance. A fault that was reported stays one, however long ago. */
export const withStaleness = (verdict: Verdict, freshness: Freshness): Verdict =>
  verdict === 'complies' && freshness === 'stale' ? 'stale' : verdict;

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

const wantedOf = (desired: Desired, assignment: string): Row['desired'] => {
  const wanted = desired.kind === 'release' ? desired.packages.get(assignment) : undefined;
  return desired.kind === 'release' && wanted !== undefined
    ? { version: desired.version, package: wanted, issuedAt: desired.issuedAt }
    : null;
};

/** undefined if the assignment is neither desired nor running. */
const judge = (
  desired: Desired,
  wanted: Digest | undefined,
  selected: boolean,
  state: Omit<StateOf<Pick<Running, 'package'>>, 'assignment'>,
): Verdict | undefined => {
  const running = state.running?.package ?? undefined;
  if (wanted === undefined && running === undefined) return undefined;
  if (isFailed(state.health)) return 'failed';
  if (desired.kind === 'none') return 'no release';
  if (desired.kind === 'refused') return 'release refused';
  if (wanted !== running) {
    if (!selected) return 'not selected';
    if (wanted === undefined) return 'extra';
    return running === undefined ? 'missing' : 'behind';
  }
  if (state.drift?.drifted) return 'drifted';
  return state.health?.code === 'HEALTH_UNKNOWN' ? 'unknown' : 'complies';
};

const aged = <T>(cell: Cell<T> | null, now: Date): Aged<Cell<T>> | null =>
  cell
    ? {
        ...cell,
        ageSeconds: secondsBetween(cell.at, now),
        receivedAgeSeconds: secondsBetween(cell.source.receivedAt, now),
      }
    : null;

/** Negative if the agent's clock runs ahead. */
const secondsBetween = (at: Timestamp, now: Date): number =>
  Math.floor((now.getTime() - new Date(at).getTime()) / 1000);
