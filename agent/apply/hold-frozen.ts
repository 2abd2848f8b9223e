import type { Agent } from '../agent.ts';
import type { Staleness } from '../staleness/read-staleness.ts';
import { isSame } from '../store/package-ref.ts';
import { readPackages } from '../store/packages.ts';
import { hold } from './hold.ts';
import type { PackageResult } from './package-result.ts';

/** What would be changed, held back because of staleness; what failed before stays failed. */
export const holdFrozen = (agent: Agent, { causes }: Staleness): readonly PackageResult[] => {
  const why = `${causes[0]?.why ?? 'nothing vouches for it'}, and onStale is block-changes`;
  const results: PackageResult[] = [];
  for (const row of readPackages(agent.state)) {
    const { assignment, desired, current, pinnedRelease, status, code, message } = row;
    if (pinnedRelease !== undefined || (desired && isSame(current, desired))) continue;
    if (status !== 'failed' && status !== 'broken') results.push(hold(agent, row, why, 'STALE'));
    else {
      const said = { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) };
      results.push({ assignment, outcome: 'failed', ...said });
    }
  }
  return results;
};
