import { formatTime } from '#bundles/time';
import type { Agent } from './agent.ts';
import type { PackageRow } from './applied/packages.ts';

/** The row of a package that the store does not know yet. */
export const emptyRow = ({ edge }: Pick<Agent, 'edge'>, assignment: string): PackageRow => ({
  assignment,
  desired: undefined,
  current: undefined,
  previous: undefined,
  pinnedRelease: undefined,
  pinnedReason: undefined,
  status: 'waiting',
  code: undefined,
  message: undefined,
  checks: [],
  drift: undefined,
  since: formatTime(edge.now()),
});
