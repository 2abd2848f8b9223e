import { FleetError } from '#bundles/errors';
import { findPackage, type PackageRow, readPackages } from '../store/applied/packages.ts';
import type { Agent } from '../store/agent.ts';

/** The row of a package that an operator names. @throws FleetError USAGE for one that is not here */
export const findRunning = (agent: Agent, assignment: string): PackageRow => {
  const row = findPackage(agent.state, assignment);
  if (row) return row;
  const names = readPackages(agent.state).map((it) => it.assignment);
  throw new FleetError('USAGE', `there is no package ${assignment} here`, {
    hint: names.length > 0 ? `There are: ${names.slice(0, 20).join(', ')}` : 'Import a medium first',
  });
};
