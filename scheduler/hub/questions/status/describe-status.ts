import { formatGaps } from '../../ingest/reports/find-head.ts';
import { formatAge, formatSpan } from './format-age.ts';
import { nameSome } from '#bundles/name-some';
import { formatChannel } from '#bundles/names';
import type { RebootState } from '../../store/reboot-state.ts';
import { type FreshnessPolicies, freshnessPolicyFor } from '../state/freshness.ts';
import { nextVisit } from '../state/next-visit.ts';
import type { Actual } from '../state/read-actual.ts';
import type { Desired, SiteHold } from '../state/what-runs-where.ts';

/** Lines below the table: releases with their age, held assignments, agents without reports, gaps in events, alarms. */
export const describeStatus = (
  desired: ReadonlyMap<string, Desired>,
  { agents, gaps, alarms }: Omit<Actual, 'next'>,
  now: Date,
): readonly string[] => [
  ...[...desired].flatMap(([channel, wanted]) => describeDesired(channel, wanted, now)),
  ...[...desired].flatMap(([channel, wanted]) => describeUnknown(channel, wanted, agents)),
  ...agents
    .filter(({ reported }) => !reported)
    .map(
      ({ site, agent, enrolledAt }) =>
        `${site}/${agent} has never reported; it was enrolled ${formatAge(enrolledAt, now)}`,
    ),
  ...agents
    .filter(({ silent }) => silent)
    .map(
      ({ site, agent, heardAt }) =>
        `${site}/${agent} is silent: it was online, and the hub last heard it ${heardAt === null ? 'never' : formatAge(heardAt, now)}`,
    ),
  ...agents
    .filter(({ stopped }) => stopped)
    .map(
      ({ site, agent, saidAt }) =>
        `${site}/${agent}: its service is not running, so nothing is compared or corrected there; its last look was ${saidAt === null ? 'never' : formatAge(saidAt, now)}`,
    ),
  ...agents.flatMap(({ site, agent, held }) =>
    held === null ? [] : [`${site}/${agent} is ${describeHold(held, now)}`],
  ),
  ...agents.flatMap(({ site, agent, reboot }) =>
    reboot ? describeReboot(reboot, now).map((line) => `${site}/${agent} ${line}`) : [],
  ),
  ...gaps.map(({ agent, gaps: missing }) => `${agent}: events ${formatGaps(missing)} are missing`),
  ...alarms.map(
    ({ agent, code, message, raised_at: at }) => `${agent}: alarm ${code}, ${formatAge(at, now)}: ${message}`,
  ),
];

/** 'held by anna, 2 h ago, until 2026-11-21T18:00:00Z: batch 17 is running' */
const describeHold = ({ since, until, by, reason }: SiteHold, now: Date): string => {
  const who = by === null ? '' : ` by ${by}`;
  const end = until === null ? 'until it is released' : `until ${until}`;
  return `held${who}, ${formatAge(since, now)}, ${end}: ${reason ?? 'no reason given'}`;
};

/** 'needs a reboot since ...', and how the last one by the agent ended if that was not well. */
const describeReboot = ({ required, services, last }: RebootState, now: Date): readonly string[] => [
  ...(required
    ? [
        `needs a reboot, ${formatAge(required.since, now)}: ${required.causes}${required.waits === null ? '' : `; waits for ${required.waits}`}`,
      ]
    : []),
  ...(services.length > 0 ? [`has services with libraries of before an upgrade: ${nameSome(services)}`] : []),
  ...(last && last.unwell.length > 0
    ? [
        `was rebooted by its agent, ${formatAge(last.at, now)}, and was not healthy after it: ${nameSome(last.unwell)}`,
      ]
    : []),
];

/** Which policies the ages in the table were judged by; nothing without any. */
export const describeFreshness = ({ from, policies }: FreshnessPolicies): readonly string[] =>
  policies.map(
    ({ name, environment, clusterTypes, lateSeconds, staleSeconds }) =>
      `${[environment, ...(clusterTypes.length > 0 ? [clusterTypes.join(', ')] : [])].join('/')}: late after ${formatSpan(lateSeconds * 1000)}, stale after ${formatSpan(staleSeconds * 1000)} (FreshnessPolicy ${name}, ${from === 'platform' ? 'from --platform' : 'as serve last read it'})`,
  );

const describeDesired = (channel: string, desired: Desired, now: Date): readonly string[] => {
  switch (desired.kind) {
    case 'none':
      return [`${channel} has no release`];
    case 'refused':
      return [`${channel}: the release in the layout is refused: ${desired.message}`];
    case 'release':
      return [
        `${channel} is at release ${desired.version}, issued ${formatAge(desired.issuedAt, now)}`,
        ...desired.held.map((held) => `${channel}: held: ${held}`),
        ...(desired.waits ?? []).map((reason) => `${channel} waits: a change was not released: ${reason}`),
      ];
  }
};

/** A site cannot have a release that the layout has not made yet. */
const describeUnknown = (channel: string, desired: Desired, agents: Actual['agents']): readonly string[] => {
  if (desired.kind !== 'release') return [];
  return agents.flatMap(({ site, agent, accepted }) =>
    accepted?.channel === channel && accepted.version > desired.version
      ? [
          `${site}/${agent} has release ${accepted.version} of ${channel}, which this layout never made: it is an older copy, or another one has the same keys (fleet-scheduler restore --in-place)`,
        ]
      : [],
  );
};

/** Agents whose medium is overdue, and for each channel by when the next medium is expected first. */
export const describeVisits = (
  { agents }: Pick<Actual, 'agents'>,
  { policies }: FreshnessPolicies,
  now: Date,
): readonly string[] => {
  const visits = agents.flatMap((agent) => {
    const visit = nextVisit(agent, freshnessPolicyFor(policies, agent.channel), now);
    return visit ? [{ agent, visit }] : [];
  });
  const ahead = visits.filter(({ visit }) => !visit.isOverdue);
  const first = Map.groupBy(
    ahead.toSorted((a, b) => (a.visit.expectedBy < b.visit.expectedBy ? -1 : 1)),
    ({ agent }) => formatChannel(agent.channel),
  );
  return [
    ...visits
      .filter(({ visit }) => visit.isOverdue)
      .map(
        ({ agent: { site, agent }, visit }) =>
          `${site}/${agent} is overdue: a medium was expected by ${visit.expectedBy}`,
      ),
    ...[...first].flatMap(([channel, [next, ...others]]) =>
      next
        ? [
            `${channel}: the next medium is expected by ${next.visit.expectedBy} at ${next.agent.site}/${next.agent.agent}${others.length === 0 ? '' : `, ${others.length} more later`}`,
          ]
        : [],
    ),
  ];
};
