import { nameSome } from '#bundles/name-some';
import { formatTime } from '#bundles/time';
import { readStaleness } from '../../acquire/staleness/read-staleness.ts';
import type { Agent } from '../../store/agent.ts';
import { isSamePackage } from '../../store/applied/package-ref.ts';
import { readPackages } from '../../store/applied/packages.ts';
import { readCondition } from '../../store/conditions.ts';
import { nameOf } from '../../store/journal/name-of.ts';
import { openOperations } from '../../store/journal/operations.ts';
import { readSiteHold, describeSiteHold } from '../../store/site-hold.ts';
import { readTrustRow } from '../../store/trust.ts';
import { isTrialUnderWay } from '../../store/upgrade-trial.ts';
import type { HealthWaits } from '../observe.ts';

/** Why this machine must not be rebooted at all, by the agent's own records, the most important first. */
export const siteObstacles = (agent: Agent): readonly string[] => {
  const { state, edge } = agent;
  const held = readSiteHold(agent);
  const stale = readStaleness(agent);
  const { timeFloor } = readTrustRow(state);
  return [
    ...(held ? [`the end of the hold: ${describeSiteHold(held)}`] : []),
    ...(stale ? [`a newer release or lease: this machine is stale since ${stale.since}`] : []),
    ...(readCondition(state, 'glass') ? ['a regular release: expired statements were imported'] : []),
    ...(timeFloor && timeFloor > edge.now()
      ? [`the right time: the clock is before ${formatTime(timeFloor)}, which signatures have proven`]
      : []),
    ...(isTrialUnderWay(state.directory) ? ['the end of the trial of a new version of the agent'] : []),
  ];
};

/** As siteObstacles, for a reboot between packages. An unhealthy package is no reason: it may need the reboot. */
export const rebootObstacles = (agent: Agent, isWaiting: HealthWaits['isWaiting']): readonly string[] => {
  const { state, news } = agent;
  const rows = readPackages(state);
  const pending = rows.filter(
    ({ status, pinnedRelease, current, desired }) =>
      status === 'waiting' && pinnedRelease === undefined && !isSamePackage(current, desired),
  );
  const judged = rows.filter(({ assignment }) => isWaiting(assignment));
  const namesOf = (of: typeof rows): string => nameSome(of.map(({ assignment }) => assignment));
  return [
    ...siteObstacles(agent),
    ...openOperations(state).map((open) => `the end of the operation under way: ${nameOf(open)}`),
    ...(news?.aborted ? ['a newer release, which is being taken up'] : []),
    ...(pending.length > 0 ? [`packages that are to be applied: ${namesOf(pending)}`] : []),
    ...(judged.length > 0 ? [`the health of ${namesOf(judged)}, which is being judged`] : []),
  ];
};
