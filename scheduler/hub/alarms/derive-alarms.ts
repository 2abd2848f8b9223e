import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { formatCount } from '#bundles/format-count';
import { formatChannel } from '#bundles/names';
import { plainText } from '#bundles/errors';
import type { AlarmSubject } from '#bundles/schemas/types/hub-decisions';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { formatSpan } from '../questions/status/format-age.ts';
import { freshnessOf, freshnessPolicyFor } from '../questions/state/freshness.ts';
import { describeLinks } from '../questions/state/link-states.ts';
import { isReached } from '../questions/state/what-runs-where.ts';
import { nextVisit } from '../questions/state/next-visit.ts';
import { silentSince } from '../questions/state/silent-since.ts';
import { type Alarm, type AlarmKind, createAlarm } from './alarm.ts';
import type { AgentFacts, AlarmFacts, End, Trouble } from './alarm-facts.ts';

/** Drifts of one assignment within a day from which on something is said to fight the agent. */
const MIN_CORRECTIONS = 3;
/** A receiver that fails for less is retried without an alarm. */
const RECEIVER_FAILS_MS = 15 * 60_000;
/** A build that fails for less is tried again without an alarm: a repository may be out of reach for a moment. */
const BUILD_FAILS_MS = 10 * 60_000;
/** Length of a text that an agent or a person wrote. */
const MAX_TEXT = 300;

/**
 * The alarms of a fleet. Pure: the same facts give the same alarms with the same ids, whichever replica of the hub asks. Each
 * condition gives one alarm for as long as it lasts.
 */
export const deriveAlarms = (facts: AlarmFacts): readonly Alarm[] => {
  const agents = new Map(facts.agents.map((agent) => [agent.id, agent]));
  return [
    ...facts.agents.flatMap((agent) => [...agentAlarms(agent, facts), ...withheldAlarm(agent, facts)]),
    ...packageAlarms(facts, agents),
    ...reportAlarms(facts, agents),
    ...gateAlarms(facts),
    ...releaseAlarms(facts),
    ...facts.ends.flatMap((end) => endAlarm(end, facts.now)),
    ...hubAlarms(facts),
    ...auditAlarm(facts),
  ];
};

const auditAlarm = ({ auditFault, now }: AlarmFacts): readonly Alarm[] =>
  auditFault === undefined
    ? []
    : [createAlarm('AUDIT_LOG_CHANGED', 'critical', { name: 'audit log' }, formatTime(now), auditFault)];

const subjectOf = ({ id: agent, site, environment, clusterType }: AgentFacts) => ({
  site,
  agent,
  environment,
  clusterType,
});

const agentAlarms = (agent: AgentFacts, { now, policies }: AlarmFacts): readonly Alarm[] => {
  const subject = subjectOf(agent);
  const policy = freshnessPolicyFor(policies, agent);
  const said = (agent.reported ? agent.saidAt : null) ?? agent.enrolledAt;
  const alarms = [...lateAlarm(agent, policy, said, now)];
  if (agent.onlineAt !== null && agent.onlineAt < silentSince(now)) {
    const summary = `${agent.id} is silent: it was online, and the hub last heard it at ${agent.onlineAt}`;
    alarms.push(createAlarm('AGENT_SILENT', 'warning', subject, agent.onlineAt, summary));
  }
  if (agent.stopped) {
    const summary = `The agent's service at ${agent.id} is not running: nothing has compared the machine with its release since ${said}`;
    alarms.push(createAlarm('SERVICE_STOPPED', 'warning', subject, said, summary));
  }
  const rebootBy =
    agent.reboot && policy?.rebootSeconds !== undefined
      ? new Date(parseTime(agent.reboot.since).getTime() + policy.rebootSeconds * 1000)
      : undefined;
  if (agent.reboot && rebootBy && rebootBy <= now) {
    const summary = `${agent.id} has needed a reboot since ${agent.reboot.since}${reasonSuffix(agent.reboot.causes)}`;
    alarms.push(createAlarm('REBOOT_OVERDUE', 'warning', subject, formatTime(rebootBy), summary));
  }
  const visit = nextVisit({ ...agent, online: agent.onlineAt !== null }, policy, now);
  if (visit?.isOverdue === true) {
    const summary = `No medium has come from ${agent.id}: one was expected by ${visit.expectedBy}`;
    alarms.push(createAlarm('MEDIUM_OVERDUE', 'warning', subject, visit.expectedBy, summary));
  }
  return alarms;
};

/** @param said when the agent last compared the machine with its release, or was enrolled */
const lateAlarm = (
  agent: AgentFacts,
  policy: ReturnType<typeof freshnessPolicyFor>,
  said: Timestamp,
  now: Date,
): readonly Alarm[] => {
  const freshness = freshnessOf(said, policy, now);
  if (!policy || (freshness !== 'late' && freshness !== 'stale')) return [];
  // Times, not ages: the same condition has the same sentence in every round.
  const word = agent.reported
    ? `it last compared the machine with its release at ${said}`
    : `it was enrolled at ${said} and never reported`;
  const limit = freshness === 'late' ? policy.lateSeconds : policy.staleSeconds;
  const since = new Date(parseTime(said).getTime() + policy.lateSeconds * 1000);
  const summary = `${agent.id} is ${freshness}: ${word}, and its FreshnessPolicy allows ${formatSpan(limit * 1000)}`;
  const severity = freshness === 'late' ? 'warning' : 'critical';
  const alarm = createAlarm('AGENT_LATE', severity, subjectOf(agent), formatTime(since), summary);
  return [agent.reported ? alarm : { ...alarm, cause: 'never reported' }];
};

/** A release that an agent could have by what it reports, and has not: what withholds it keeps signatures and reports whole. */
const withheldAlarm = (agent: AgentFacts, { policies, desired }: AlarmFacts): readonly Alarm[] => {
  const policy = freshnessPolicyFor(policies, agent);
  const wanted = desired.get(formatChannel(agent));
  if (!policy || wanted?.kind !== 'release' || agent.held || !agent.reported || agent.saidAt === null)
    return [];
  const [, name = ''] = agent.id.split('/');
  if (agent.release >= wanted.version || !isReached(wanted, { ...agent, agent: name })) return [];
  const after = (seconds: number): Timestamp =>
    formatTime(new Date(parseTime(wanted.issuedAt).getTime() + seconds * 1000));
  // By the agent's last word: of an agent that says nothing it is not known, and AGENT_LATE is about that.
  if (agent.saidAt < after(policy.lateSeconds)) return [];
  const severity = agent.saidAt < after(policy.staleSeconds) ? 'warning' : 'critical';
  const has = agent.release === 0 ? 'no release' : `release ${agent.release}`;
  const summary = `${agent.id} reports, but has not accepted release ${wanted.version} of ${formatChannel(agent)}, issued at ${wanted.issuedAt}: it has ${has}`;
  return [createAlarm('RELEASE_NOT_TAKEN', severity, subjectOf(agent), after(policy.lateSeconds), summary)];
};

type Agents = ReadonlyMap<string, AgentFacts>;

const packageAlarms = (facts: AlarmFacts, agents: Agents): readonly Alarm[] => {
  const { now, desired, troubles, corrections } = facts;
  /** undefined for an agent that was revoked meanwhile. */
  const about = (id: string, assignment: string) => {
    const agent = agents.get(id);
    if (!agent) return undefined;
    const wanted = desired.get(formatChannel(agent));
    const release = wanted?.kind === 'release' ? wanted : undefined;
    const subject: AlarmSubject = { ...subjectOf(agent), assignment, ...release?.teams?.get(assignment) };
    return { agent, subject, isWanted: release?.packages.has(assignment) === true };
  };
  const found = troubles.flatMap(({ agent: id, assignment, runs, failed, drifted }) => {
    const known = about(id, assignment);
    if (!known || (!runs && !known.isWanted)) return [];
    const { agent, subject } = known;
    const alarms: Alarm[] = [];
    if (failed) {
      const code = failed.code === null ? '' : ` (${failed.code})`;
      const summary = `${assignment} failed at ${id}${code}${reasonSuffix(failed.message)}`;
      const alarm = createAlarm('PACKAGE_FAILED', 'critical', subject, notAfter(failed.at, now), summary);
      alarms.push({ ...alarm, cause: failureCause(failed) });
    }
    if (drifted && !agent.held) {
      const summary = `${assignment} at ${id} differs from what was applied${reasonSuffix(drifted.message)}`;
      alarms.push(createAlarm('PACKAGE_DRIFTED', 'warning', subject, notAfter(drifted.at, now), summary));
    }
    return alarms;
  });
  const fights = corrections.flatMap(({ agent: id, assignment, times, first }) => {
    const known = about(id, assignment);
    if (!known || times < MIN_CORRECTIONS) return [];
    const summary = `${assignment} at ${id} drifted ${times} times within a day: something changes it again after each correction`;
    return [createAlarm('DRIFT_FIGHTS', 'warning', known.subject, notAfter(first, now), summary)];
  });
  return [...found, ...fights];
};

type Proof = { readonly kind: AlarmKind; readonly what: (agent: string) => string };

const CONTRADICTION: Proof = {
  kind: 'REPORT_CHAIN',
  what: (agent) => `A report of ${agent} contradicts earlier ones`,
};

const EVIDENCE: Readonly<Record<string, Proof>> = {
  ROLLBACK: { ...CONTRADICTION, kind: 'REPORT_ROLLBACK' },
  KEY_COPIED: { kind: 'KEY_COPIED', what: (agent) => `Two machines seem to have the key of ${agent}` },
};

const reportAlarms = ({ evidence, gaps }: AlarmFacts, agents: Agents): readonly Alarm[] => {
  const proofs = Map.groupBy(evidence, ({ agent, code }) => `${agent} ${code}`);
  const proven = [...proofs.values()].flatMap((rows) => {
    const [first] = rows.toSorted((a, b) => (a.raisedAt < b.raisedAt ? -1 : 1));
    const agent = first && agents.get(first.agent);
    if (!first || !agent) return [];
    const { kind, what } = EVIDENCE[first.code] ?? CONTRADICTION;
    const summary = `${what(agent.id)}${reasonSuffix(first.message)}`;
    return [createAlarm(kind, 'critical', subjectOf(agent), first.raisedAt, summary)];
  });
  const missing = gaps.flatMap(({ agent: id, head, newest, since }) => {
    const agent = agents.get(id);
    if (!agent) return [];
    const summary = `Events of ${id} are missing between ${head} and ${newest}`;
    return [createAlarm('REPORT_GAP', 'warning', subjectOf(agent), since, summary)];
  });
  return [...proven, ...missing];
};

/** Conditions that only a person ends: an approval, or a promotion by hand. */
const gateAlarms = ({ links }: AlarmFacts): readonly Alarm[] =>
  links
    .filter(
      ({ state, mode, waitsFor }) =>
        (state === 'waiting' && waitsFor === 'approvals') || (state === 'ready' && mode !== 'automatic'),
    )
    .map((link) =>
      createAlarm(
        'GATE_WAITS',
        'info',
        { environment: link.to },
        link.since,
        `A person is needed: ${describeLinks([link]).join('')}`,
      ),
    );

const releaseAlarms = ({ desired, agents, now }: AlarmFacts): readonly Alarm[] => {
  const following = Map.groupBy(agents, formatChannel);
  return [...desired].flatMap(([channel, wanted]) => {
    const [first, ...others] = (following.get(channel) ?? []).toSorted((a, b) =>
      a.enrolledAt < b.enrolledAt ? -1 : 1,
    );
    if (!first) return [];
    const { environment, clusterType } = first;
    const subject = { environment, clusterType };
    switch (wanted.kind) {
      case 'none': {
        const count = others.length + 1;
        const summary = `${channel} has no release, and ${count} agent${count === 1 ? ' follows' : 's follow'} it`;
        return [createAlarm('CHANNEL_UNRELEASED', 'warning', subject, first.enrolledAt, summary)];
      }
      case 'refused': {
        const summary = `The release of ${channel} in the layout is refused${reasonSuffix(wanted.message)}`;
        return [createAlarm('RELEASE_REFUSED', 'critical', subject, formatTime(now), summary)];
      }
      case 'release': {
        const waits = wanted.waits ?? [];
        const summary = `A change of ${channel} was not released${reasonSuffix(waits[0] ?? null)}`;
        return [
          ...unknownAlarm(following.get(channel) ?? [], wanted.version, channel, now),
          ...(waits.length > 0
            ? [createAlarm('RELEASE_WAITS', 'warning', subject, formatTime(now), summary)]
            : []),
          ...wanted.held.map((held) => heldAlarm(held, channel, subject, wanted)),
        ];
      }
    }
  });
};

/** A site cannot have a release that the layout has not made yet: the layout is an older copy, or another one has the same keys. */
const unknownAlarm = (
  agents: readonly AgentFacts[],
  newest: number,
  channel: string,
  now: Date,
): readonly Alarm[] => {
  const [first, ...others] = agents.filter(({ release }) => release > newest);
  if (!first) return [];
  const { environment, clusterType } = first;
  const more = others.length === 0 ? '' : `; ${formatCount(others.length, 'other agent')} too`;
  const summary = `${first.id} has release ${first.release} of ${channel}, a newer one than the layout, whose newest is ${newest}${more}`;
  return [createAlarm('RELEASE_UNKNOWN', 'critical', { environment, clusterType }, formatTime(now), summary)];
};

/** @param held '<assignment>: <why>' */
const heldAlarm = (
  held: string,
  channel: string,
  subject: AlarmSubject,
  {
    issuedAt,
    teams,
    takenBack,
  }: {
    readonly issuedAt: Timestamp;
    readonly teams?: ReadonlyMap<string, AlarmSubject>;
    readonly takenBack?: ReadonlySet<string>;
  },
): Alarm => {
  const [assignment = ''] = held.split(':', 1);
  const why = held.slice(assignment.length + 2);
  // A person decided it: a fact to know of, and no fault.
  if (takenBack?.has(assignment) === true)
    return createAlarm(
      'ASSIGNMENT_TAKEN_BACK',
      'info',
      { ...subject, assignment, ...teams?.get(assignment) },
      issuedAt,
      `${channel}${reasonSuffix(why)}`,
    );
  return createAlarm(
    'ASSIGNMENT_HELD',
    'warning',
    { ...subject, assignment, ...teams?.get(assignment) },
    issuedAt,
    `${assignment} is held in ${channel} at its last good package${reasonSuffix(why)}`,
  );
};

const endAlarm = (end: End, now: Date): readonly Alarm[] => {
  const { kind, what, at, warnMs, criticalMs, environment, clusterType, site, name } = end;
  const left = at.getTime() - now.getTime();
  if (left >= warnMs) return [];
  const subject: AlarmSubject = defined({
    environment,
    clusterType,
    site,
    name,
  });
  const since = formatTime(new Date(at.getTime() - warnMs));
  const severity = left < criticalMs ? 'critical' : 'warning';
  return [
    createAlarm(
      kind,
      severity,
      subject,
      since,
      `${what} ${left > 0 ? 'expires' : 'expired'} at ${formatTime(at)}`,
    ),
  ];
};

const hubAlarms = ({ trouble, receivers, now }: AlarmFacts): readonly Alarm[] => [
  ...(trouble && now.getTime() - trouble.since.getTime() >= BUILD_FAILS_MS
    ? [
        createAlarm(
          'BUILD_FAILS',
          'critical',
          {},
          formatTime(trouble.since),
          `The hub cannot build or publish${reasonSuffix(trouble.message)}`,
        ),
      ]
    : []),
  ...receivers.flatMap(({ name, failingSince, refused }) => {
    if (failingSince === null)
      return refused === null
        ? []
        : [
            createAlarm(
              'RECEIVER_FAILS',
              'warning',
              { name },
              refused.since,
              `The receiver ${name} has refused ${formatCount(refused.count, 'notice')}${reasonSuffix(refused.message)}`,
            ),
          ];
    if (now.getTime() - parseTime(failingSince).getTime() < RECEIVER_FAILS_MS) return [];
    return [
      createAlarm(
        'RECEIVER_FAILS',
        'warning',
        { name },
        failingSince,
        `The receiver ${name} has taken no alarms since ${failingSince}`,
      ),
    ];
  }),
];

/** 'CHECK_FAILED every-program-has-a-limit' */
const failureCause = ({ code, checks }: NonNullable<Trouble['failed']>): string =>
  plainText([code ?? '', checks.toSorted(compareBytes).join(', ')].join(' ').trim()).slice(0, MAX_TEXT);

/** ': <why>' on one line without control characters; nothing without a reason. */
const reasonSuffix = (why: string | null): string => {
  const text = plainText(why ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (text === '') return '';
  return `: ${text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text}`;
};

/** A clock of a site that runs ahead moves no start into the future. */
const notAfter = (at: Timestamp, now: Date): Timestamp => {
  const limit = formatTime(now);
  return at < limit ? at : limit;
};
