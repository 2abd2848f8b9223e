import { defined } from '#bundles/defined';
import { formatTime, type Timestamp } from '#bundles/time';
import type { AgentSelector, PromotionPolicy } from '../../../model/promotion.ts';
import { baseOf, type CountedAgents, type JudgedAgent } from './count-agents.ts';
import type { GateFacts } from '../facts/facts.ts';
import { formatSpan } from '../../questions/status/format-age.ts';
import { formatSeconds } from '../../../model/format-seconds.ts';
import { type Change, type Condition, holdingOf } from './verdict.ts';

/** The conditions about agents, in the order in which they are shown. */
export const judgeAgents = (
  policy: PromotionPolicy,
  facts: GateFacts,
  agents: CountedAgents,
  now: Date,
): readonly Condition[] => [
  ...judgeCompliance(policy, agents),
  ...(policy.compliance?.require ?? []).map((selector) => judgeRequired(selector, agents.all)),
  ...(policy.freshnessSeconds === undefined ? [] : [judgeFreshness(policy.freshnessSeconds, agents)]),
  judgeFaults('failures', 'failed', agents.counted),
  judgeFaults('drift', 'drifted', agents.counted),
  ...(policy.soakSeconds > 0 ? [judgeSoak(policy, facts, agents, now)] : []),
  ...(policy.absent ? [judgeAbsent(policy.absent, agents.absent)] : []),
];

const judgeCompliance = (policy: PromotionPolicy, { counted }: CountedAgents): readonly Condition[] => {
  const { compliance } = policy;
  if (!compliance) return [];
  const complying = counted.filter(({ complies }) => complies).length;
  const base = baseOf(policy) === 'reported' ? 'agents that ever reported' : 'enrolled agents';
  const others = counted.filter(({ complies }) => !complies);
  const { percent, atLeast } = compliance;
  const share = counted.length === 0 ? 'none' : `${Math.floor((complying * 100) / counted.length)} %`;
  return [
    ...(percent === undefined
      ? []
      : [
          agentCondition(
            'compliance',
            `${percent} % of the ${base}`,
            `${complying} of ${counted.length}, ${share}`,
            complying > 0 && complying * 100 >= percent * counted.length,
            others,
            { progress: { found: complying, wanted: Math.ceil((percent * counted.length) / 100) } },
          ),
        ]),
    ...(atLeast === undefined && percent !== undefined
      ? []
      : [
          agentCondition(
            'at least',
            `${atLeast ?? 1} of the ${base}`,
            `${complying}`,
            complying >= (atLeast ?? 1),
            others,
            { progress: { found: complying, wanted: atLeast ?? 1 } },
          ),
        ]),
  ];
};

/** Required agents are never excluded: not for having been absent, and not for never having reported. */
const judgeRequired = ({ matchLabels }: AgentSelector, all: readonly JudgedAgent[]): Condition => {
  const found = all.filter((agent) => hasLabels(agent, matchLabels));
  const others = found.filter(({ complies }) => !complies);
  const labels = Object.entries(matchLabels).map(([name, value]) => `${name}=${value}`);
  return agentCondition(
    `required ${labels.join(',')}`,
    'at least one agent has these labels, and every one of them complies',
    `${found.length - others.length} of ${found.length}`,
    found.length > 0 && others.length === 0,
    others,
    { progress: { found: found.length - others.length, wanted: found.length } },
  );
};

const hasLabels = ({ labels }: JudgedAgent, wanted: AgentSelector['matchLabels']): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

/** Met if the share could be reached with fresh words; without a share every counted agent's word must be fresh. */
const judgeFreshness = (seconds: number, { counted, needed }: CountedAgents): Condition => {
  const stale = counted.filter(({ fresh }) => !fresh);
  const fresh = counted.length - stale.length;
  const wanted = needed === 0 ? counted.length : needed;
  return agentCondition(
    'freshness',
    `newest reports of the last ${formatSeconds(seconds)}`,
    `${fresh} of ${counted.length}`,
    fresh >= wanted,
    stale,
    { progress: { found: fresh, wanted } },
  );
};

/** A known fault holds the gate, regardless of the age of the report and the share of compliant agents. */
const judgeFaults = (
  name: 'failures' | 'drift',
  kind: 'failed' | 'drifted',
  counted: readonly JudgedAgent[],
): Condition => {
  const faulty = counted.filter(({ state }) => state.kind === kind);
  return agentCondition(name, 'none', `${faulty.length}`, faulty.length === 0, faulty);
};

/**
 * Soak: as many agents as compliance needs, every required one, and every one that had a failure or drift of this candidate, has
 * each shown that it complied for so long without a break. Each agent's time is a fold over its facts: it begins with the newest
 * of the import of the candidate's first release, what runs now, and the end of its last fault; it ends with its newest word.
 * Nothing is stored, so a report that arrives late counts for the time that it is about. Without a wanted share the release's own
 * age counts.
 */
const judgeSoak = (
  { soakSeconds, compliance }: PromotionPolicy,
  { channels }: GateFacts,
  { all, counted, needed }: CountedAgents,
  now: Date,
): Condition => {
  const wanted = `${formatSeconds(soakSeconds)} without a break`;
  if (!compliance) return judgeReleaseAge(soakSeconds, channels, now);
  const has = ({ soakedSeconds }: JudgedAgent): boolean => soakedSeconds >= soakSeconds;
  const soaked = counted.filter(has);
  const isCounted = new Set(counted);
  const each = all.filter(
    (agent) =>
      (agent.state.kind === 'complies' && agent.state.faulted && isCounted.has(agent)) ||
      compliance.require.some(({ matchLabels }) => hasLabels(agent, matchLabels)),
  );
  const met = soaked.length >= needed && each.every(has);
  const others = [...new Set([...counted, ...each])].filter((agent) => !has(agent));
  const condition = agentCondition('soak', wanted, `${soaked.length} of ${needed} agents`, met, others, {
    progress: { found: soaked.length, wanted: needed },
    why: (agent) => (agent.complies ? `${formatSpan(agent.soakedSeconds * 1000)} shown` : agent.why),
  });
  if (met) return condition;
  const due = earliestSoak(counted, each, { needed, soakSeconds });
  return {
    ...condition,
    earliest: due === undefined ? null : formatTime(new Date(Math.max(due, now.getTime()))),
    changedBy: due === undefined ? condition.changedBy : [...condition.changedBy, 'clock'],
  };
};

/** Agents on the network speak all the time, so their soak ends by the clock; others need a medium. Milliseconds. */
const earliestSoak = (
  counted: readonly JudgedAgent[],
  each: readonly JudgedAgent[],
  { needed, soakSeconds }: { readonly needed: number; readonly soakSeconds: number },
): number | undefined => {
  const dueOf = (agent: JudgedAgent): number | undefined => {
    if (agent.since === undefined) return undefined;
    if (agent.soakedSeconds < soakSeconds && !agent.online) return undefined;
    return agent.since + soakSeconds * 1000;
  };
  const times = counted.flatMap((agent) => dueOf(agent) ?? []).toSorted((a, b) => a - b);
  const last = times[needed - 1];
  const others = each.map(dueOf);
  if (last === undefined || others.includes(undefined)) return undefined;
  return Math.max(last, ...others.map((time) => time ?? 0));
};

const judgeReleaseAge = (seconds: number, channels: GateFacts['channels'], now: Date): Condition => {
  const since = channels
    .flatMap((channel) => channel.since?.issuedAt ?? [])
    .toSorted()
    .at(-1);
  const due = since === undefined ? undefined : new Date(since).getTime() + seconds * 1000;
  const met = due !== undefined && due <= now.getTime();
  const earliest: Timestamp | null = met || due === undefined ? null : formatTime(new Date(due));
  return {
    name: 'soak',
    wanted: `${formatSeconds(seconds)} since its release`,
    found: since === undefined ? 'not released' : `released at ${since}`,
    met,
    holding: { count: 0, first: [] },
    earliest,
    changedBy: met ? [] : [due === undefined ? 'release' : 'clock'],
  };
};

/** With `exclude` the condition is met and names the excluded agents. */
const judgeAbsent = (
  { afterSeconds, then }: NonNullable<PromotionPolicy['absent']>,
  absent: readonly JudgedAgent[],
): Condition => {
  const limit = formatSeconds(afterSeconds);
  return agentCondition(
    'absent',
    then === 'block'
      ? `every agent was heard in the last ${limit}`
      : `agents not heard for ${limit} do not count`,
    `${absent.length} absent`,
    then === 'exclude' || absent.length === 0,
    absent,
    {
      why: ({ knownAt }) =>
        knownAt === null ? 'it never reported' : `its newest report describes ${knownAt}`,
    },
  );
};

const agentCondition = (
  name: string,
  wanted: string,
  found: string,
  met: boolean,
  others: readonly JudgedAgent[],
  {
    progress,
    why = (agent) => agent.why,
  }: Pick<Condition, 'progress'> & { readonly why?: (agent: JudgedAgent) => string | undefined } = {},
): Condition => ({
  name,
  wanted,
  found,
  ...defined({ progress }),
  met,
  holding: holdingOf(others.map((agent) => `${agent.name}: ${why(agent) ?? ''}${visitOf(agent)}`)),
  earliest: null,
  ...(!met && expectationOf(others)),
  changedBy: met ? [] : changesFrom(others),
});

const visitOf = ({ visit }: JudgedAgent): string => {
  if (!visit) return '';
  return visit.isOverdue
    ? `; a medium was expected by ${visit.expectedBy}`
    : `; its next medium is expected by ${visit.expectedBy}`;
};

/** When all media that are waited for are expected to have been there. */
const expectationOf = (others: readonly JudgedAgent[]): Pick<Condition, 'expectedBy'> => {
  const visits = others.flatMap(({ online, visit }) => (online ? [] : [visit]));
  const last = visits
    .flatMap((visit) => visit?.expectedBy ?? [])
    .toSorted()
    .at(-1);
  const isKnown = visits.every((visit) => visit && !visit.isOverdue);
  return last !== undefined && isKnown ? { expectedBy: last } : {};
};

/** Without agents that hold it back, more agents are needed: they make themselves known by reports. */
const changesFrom = (others: readonly JudgedAgent[]): readonly Change[] => {
  const ways: readonly Change[] = [
    ...(others.some(({ online }) => online) ? (['network'] as const) : []),
    ...(others.some(({ online }) => !online) ? (['medium'] as const) : []),
  ];
  return ways.length === 0 ? ['network', 'medium'] : ways;
};
