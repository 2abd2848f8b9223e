import type { Timestamp } from '#bundles/time';
import { formatChannel } from '#bundles/names';
import type { ActualAgent, Cell, JudgedAssignment } from '../../questions/state/what-runs-where.ts';
import type { Standing } from '../../questions/state/read-standings.ts';
import type { AgentFacts, AgentState, ChannelFacts } from './facts.ts';

/** A time that an agent stated, and the report that brought it. */
export type Stated = {
  readonly at: Timestamp;
  readonly receivedAt: Timestamp;
  readonly clockTrusted: boolean;
};

/** Facts about an agent that the status table does not have. */
export type AgentHistory = {
  /** Import of the first release of the candidate; undefined: it reported none. */
  readonly imported: Stated | undefined;
  /** It reported a failure or drift since that release was issued. */
  readonly faulted: boolean;
  readonly online: boolean;
};

/** An agent of a channel, and when its channel had the first release of the candidate. */
export type JudgedHistoryAgent = {
  readonly agent: ActualAgent;
  readonly since: ChannelFacts['since'];
  readonly history: AgentHistory;
};

/**
 * Facts about the candidate in an agent's reports. Facts from before the import of a release of the candidate do not count: an
 * earlier good health, or one reported too early, is not the candidate's.
 * @param standing comparison with the current release; undefined if the agent has not imported the candidate
 */
export const agentFacts = (heard: JudgedHistoryAgent, standing: Standing | undefined): AgentFacts => {
  const { agent, history } = heard;
  const facts = {
    name: `${agent.site}/${agent.agent}`,
    labels: agent.labels,
    enrolledAt: agent.enrolledAt,
    knownAt: agent.reported ? agent.saidAt : null,
    online: history.online,
    state: stateOf(heard, standing),
  };
  return agent.follower === null ? facts : { ...facts, follower: agent.follower };
};

/** Whether the agent has reported the import of a release that was made from the candidate. */
export const hasImported = ({ agent: { channel, accepted }, since, history }: JudgedHistoryAgent): boolean =>
  since !== null &&
  accepted !== null &&
  history.imported !== undefined &&
  accepted.version >= since.version &&
  accepted.channel === formatChannel(channel);

const stateOf = (heard: JudgedHistoryAgent, standing: Standing | undefined): AgentState => {
  const { agent, since, history } = heard;
  const { channel, accepted } = agent;
  const { imported, faulted } = history;
  if (!since) return { kind: 'waiting', why: `${formatChannel(channel)} is not at this candidate` };
  if (!imported || !standing || !hasImported(heard)) {
    const has = accepted
      ? `it reported ${accepted.channel} release ${accepted.version}`
      : 'it reported no release';
    return { kind: 'waiting', why: `${has}; the candidate is in release ${since.version} and later` };
  }
  if (standing.kind === 'complies') {
    const settled = standing.settledAt ?? since.issuedAt;
    return {
      kind: 'complies',
      since: latest(since.issuedAt, observed(imported, since.issuedAt), settled),
      faulted,
    };
  }
  const { rows } = standing;
  const worst =
    rows.find(({ verdict }) => verdict === 'failed') ?? rows.find(({ verdict }) => verdict === 'drifted');
  if (worst)
    return { kind: worst.verdict === 'failed' ? 'failed' : 'drifted', why: describeAssignment(worst) };
  const other = rows.find(({ verdict }) => verdict !== 'complies');
  if (other) return { kind: 'waiting', why: `${other.assignment ?? 'it'}: ${other.verdict}` };
  const times = [imported, ...rows.flatMap(statedIn)].map((stated) => observed(stated, since.issuedAt));
  return { kind: 'complies', since: latest(since.issuedAt, ...times), faulted };
};

const latest = (first: Timestamp, ...times: readonly Timestamp[]): Timestamp =>
  times.reduce((last, at) => (at > last ? at : last), first);

const describeAssignment = ({ assignment, verdict, health, drift }: JudgedAssignment): string => {
  const code = verdict === 'failed' ? (health?.code ?? health?.message) : drift?.message;
  return [assignment, code].filter(Boolean).join(': ');
};

const statedIn = ({ running, health, drift }: JudgedAssignment): readonly Stated[] =>
  [running, health, drift].flatMap((cell) => (cell ? [statedBy(cell)] : []));

const statedBy = ({ at, source }: Cell<unknown>): Stated => ({ at, ...source });

/**
 * The time of a statement as far as it can be relied on: not after its arrival, and not before the release that it is about was
 * issued. A clock that the agent itself does not trust counts for nothing, and the arrival of the report is taken.
 */
const observed = ({ at, receivedAt, clockTrusted }: Stated, issuedAt: Timestamp): Timestamp => {
  if (!clockTrusted || at > receivedAt) return receivedAt;
  return at < issuedAt ? issuedAt : at;
};
