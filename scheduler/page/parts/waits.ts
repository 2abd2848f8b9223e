import type { Media, StatusRow as Row } from '#bundles/schemas/types/hub-decisions';
import { isAwaited } from './next-media.ts';

type Carried = Media['agents'][number] | undefined;

/**
 * Condition that an assignment waits for before it complies; null if it complies.
 * @param carried media of an agent that only media reach
 */
export const waitsFor = (row: Row, carried: Carried): string | null => {
  const release = row.desired === null ? 'the newest release' : `release ${row.desired.version}`;
  switch (row.verdict) {
    case 'complies':
      return null;
    case 'behind':
    case 'missing':
    case 'extra':
      return delivery(release, carried);
    case 'not selected':
      return `a later stage of the rollout of ${release}`;
    case 'held':
      return endOfHold(row);
    case 'failed':
      return `a repair of ${row.health?.code ?? 'it'}, or a release that replaces it`;
    case 'drifted':
      return 'a correction of the live state, by the agent or by hand';
    case 'unknown':
      return 'a check of its health that the agent can make';
    case 'stale':
      return carried === undefined ? 'a new message of the agent' : 'a medium that brings its newest report';
    case 'never reported':
      return carried === undefined || carried.back === null
        ? 'the first report of the agent'
        : 'a report about this assignment';
    case 'no release':
      return 'a release of its channel';
    case 'release refused':
      return 'a release that the hub can verify';
  }
};

const endOfHold = ({ held }: Row): string =>
  held === null || held.until === null
    ? 'the operator on site, who holds it back'
    : `the end of the hold at ${held.until}`;

const delivery = (release: string, carried: Carried): string => {
  if (carried === undefined) return `the agent to report that it applied ${release}`;
  return carried.newest !== null && !isAwaited(carried)
    ? `a medium that brings the report about ${release}`
    : `a medium that carries ${release} there, and one that brings the report back`;
};
