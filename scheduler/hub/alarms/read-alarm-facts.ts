import { parseJson } from '#bundles/json/parse-json';
import { formatTime, parseTime } from '#bundles/time';
import { readFreshness } from '../questions/state/freshness-policies.ts';
import { formatChannel } from '#bundles/names';
import { channelOf, labelsOf } from '../sites/agent-record.ts';
import type { RebootState } from '../store/reboot-state.ts';
import { agentAssignment, readFailedChecks, WITH_CHECKS } from '../questions/state/read-failed-checks.ts';
import type { FailedCheck } from '../questions/state/what-runs-where.ts';
import { readLinkStates } from '../questions/state/link-states.ts';
import { parts } from '../store/parts.ts';
import type { Database } from '../store/tables.ts';
import type { AgentFacts, AlarmFacts, Corrections, Evidence, Gap, Trouble } from './alarm-facts.ts';

/** Facts that the hub's database has. */
export type StoredFacts = Pick<
  AlarmFacts,
  'policies' | 'agents' | 'troubles' | 'corrections' | 'evidence' | 'gaps' | 'links' | 'receivers'
>;

const HOUR_MS = 3_600_000;
/** Span before the last word of an agent in which its drifts are counted. */
const CORRECTIONS_WINDOW_MS = 24 * HOUR_MS;
/** Assignments in trouble that are read: of more than these each alarm would be one of thousands. */
const MAX_TROUBLES = 20_000;
/** Agents whose failed checks are read by one statement. */
const AGENTS_AT_ONCE = 200;

/** Reads the agents and the assignments in trouble, not all assignments. @param receivers names in the configuration */
export const readAlarmFacts = async (
  db: Database,
  receivers: readonly string[],
  now: Date,
): Promise<StoredFacts> => {
  const { policies } = await readFreshness(db);
  const agents = await readAgents(db, now);
  const failing = await db.selectFrom('alarm_receiver').select(['name', 'failing_since']).execute();
  const refused = await db
    .selectFrom('alarm_sent')
    .select(({ fn }) => [
      'receiver',
      fn.countAll<number>().as('count'),
      fn.min('refused_at').as('since'),
      fn.max('refusal').as('message'),
    ])
    .where('refusals', '>', 1)
    .groupBy('receiver')
    .execute();
  return {
    policies,
    agents,
    troubles: await readTroubles(db),
    corrections: await readCorrections(db, agents),
    evidence: await readEvidence(db),
    gaps: await readGaps(db),
    links: await readLinkStates(db),
    receivers: receivers.map((name) => ({
      name,
      failingSince: failing.find((row) => row.name === name)?.failing_since ?? null,
      refused:
        refused
          .filter(({ receiver }) => receiver === name)
          .map(({ count, since, message }) => ({ count, since: since ?? '', message: message ?? '' }))[0] ??
        null,
    })),
  };
};

const readAgents = async (db: Database, now: Date): Promise<readonly AgentFacts[]> => {
  const rows = await db
    .selectFrom('agent')
    .leftJoin('agent_state', 'agent_state.agent', 'agent.id')
    .select([
      'agent.id',
      'agent.site',
      'agent.environment',
      'agent.cluster_type',
      'agent.labels',
      'agent.release_version',
      'agent.release_channel',
      'agent.enrolled_at',
      'agent.heard_at',
      'agent.online_at',
      'agent.said_at',
      'agent.service',
      'agent.held_at',
      'agent.held_until',
      'agent.reboot',
      'agent_state.newest_seq',
    ])
    .where('agent.revoked_at', 'is', null)
    .orderBy('agent.id')
    .execute();
  const at = formatTime(now);
  return rows.map((row) => ({
    id: row.id,
    site: row.site,
    environment: row.environment,
    clusterType: row.cluster_type,
    enrolledAt: row.enrolled_at,
    heardAt: row.heard_at,
    onlineAt: row.online_at,
    saidAt: row.said_at,
    reported: row.newest_seq !== null,
    stopped: row.service === 'stopped',
    reboot: row.reboot === null ? null : (parseJson(row.reboot) as RebootState).required,
    labels: labelsOf(row),
    release: row.release_channel === formatChannel(channelOf(row)) ? (row.release_version ?? 0) : 0,
    held: row.held_at !== null && (row.held_until === null || row.held_until > at),
  }));
};

/** Found by the counts of each agent, so that a fleet that complies costs no read of its assignments. */
const readTroubles = async (db: Database): Promise<readonly Trouble[]> => {
  const rows = await db
    .selectFrom('agent_state')
    .innerJoin('agent', 'agent.id', 'agent_state.agent')
    .innerJoin('assignment_state as state', 'state.agent', 'agent_state.agent')
    .selectAll('state')
    .where('agent.revoked_at', 'is', null)
    .where(({ eb, or }) => or([eb('agent_state.failed', '>', 0), eb('agent_state.drifted', '>', 0)]))
    .where(({ eb, or }) =>
      or([
        eb('state.outcome', '=', 'failed'),
        eb('state.outcome_type', '=', 'rolled-back'),
        eb('state.drifted', '=', 1),
      ]),
    )
    .orderBy('state.agent')
    .orderBy('state.assignment')
    .limit(MAX_TROUBLES)
    .execute();
  const checks = new Map<string, readonly FailedCheck[]>();
  const failing = rows.filter(({ code }) => (WITH_CHECKS as readonly (string | null)[]).includes(code));
  for (const agents of parts([...new Set(failing.map(({ agent }) => agent))], AGENTS_AT_ONCE))
    for (const [key, failed] of await readFailedChecks(db, { agents })) checks.set(key, failed);
  return rows.map((row) => ({
    agent: row.agent,
    assignment: row.assignment,
    runs: row.package !== null,
    failed:
      (row.outcome === 'failed' || row.outcome_type === 'rolled-back') && row.outcome_at !== null
        ? {
            at: row.outcome_at,
            code: row.code,
            message: row.message,
            checks: (checks.get(agentAssignment(row.agent, row.assignment)) ?? []).map(({ name }) => name),
          }
        : null,
    drifted:
      row.drifted === 1 && row.drift_at !== null ? { at: row.drift_at, message: row.drift_message } : null,
  }));
};

/** Of each agent in the day before its last word: a medium that comes late tells of a day long past. */
const readCorrections = async (
  db: Database,
  agents: readonly AgentFacts[],
): Promise<readonly Corrections[]> => {
  const spoke = agents
    .flatMap(({ id, saidAt }) =>
      saidAt === null
        ? []
        : [{ id, from: formatTime(new Date(parseTime(saidAt).getTime() - CORRECTIONS_WINDOW_MS)) }],
    )
    .toSorted((a, b) => (a.from < b.from ? -1 : 1));
  const found: Corrections[] = [];
  for (const some of parts(spoke)) {
    const part = new Map(some.map(({ id, from }) => [id, from]));
    const rows = await db
      .selectFrom('history')
      .select(['agent', 'assignment', 'observed_at'])
      .where('agent', 'in', [...part.keys()])
      .where('observed_at', '>=', some[0]?.from ?? '')
      .where('field', '=', 'drift')
      .where('value', '=', 'drifted')
      .execute();
    const own = rows.filter(({ agent, observed_at: at }) => at >= (part.get(agent) ?? ''));
    for (const group of Map.groupBy(own, (row) => `${row.agent} ${row.assignment}`).values()) {
      const [first] = group.toSorted((a, b) => (a.observed_at < b.observed_at ? -1 : 1));
      if (first)
        found.push({
          agent: first.agent,
          assignment: first.assignment,
          times: group.length,
          first: first.observed_at,
        });
    }
  }
  return found;
};

/** Evidence against the current key: a new key is how a person answers it. */
const readEvidence = async (db: Database): Promise<readonly Evidence[]> => {
  const rows = await db
    .selectFrom('alarm')
    .innerJoin('agent', 'agent.id', 'alarm.agent')
    .innerJoin('agent_key', (join) =>
      join.onRef('agent_key.agent', '=', 'agent.id').onRef('agent_key.key', '=', 'agent.key'),
    )
    .select(['alarm.agent', 'alarm.code', 'alarm.message', 'alarm.raised_at'])
    .where('agent.revoked_at', 'is', null)
    .whereRef('alarm.raised_at', '>=', 'agent_key.since')
    .orderBy('alarm.raised_at')
    .execute();
  return rows.map(({ agent, code, message, raised_at: raisedAt }) => ({ agent, code, message, raisedAt }));
};

const readGaps = async (db: Database): Promise<readonly Gap[]> => {
  const rows = await db
    .selectFrom('agent')
    .innerJoin('agent_state', 'agent_state.agent', 'agent.id')
    .innerJoin('report', (join) =>
      join
        .onRef('report.agent', '=', 'agent.id')
        .onRef('report.life', '=', 'agent.life')
        .onRef('report.last_seq', '>', 'agent.head_seq')
        .on('report.apart', '=', 0),
    )
    .select(({ fn }) => [
      'agent.id',
      'agent.head_seq',
      'agent_state.newest_seq',
      fn.min('report.received_at').as('since'),
    ])
    .where('agent.revoked_at', 'is', null)
    .whereRef('agent_state.newest_seq', '>', 'agent.head_seq')
    .groupBy(['agent.id', 'agent.head_seq', 'agent_state.newest_seq'])
    .execute();
  return rows.map((row) => ({ agent: row.id, head: row.head_seq, newest: row.newest_seq, since: row.since }));
};
