import { isSamePackage } from '../store/applied/package-ref.ts';
import { type PackageRow, readPackages } from '../store/applied/packages.ts';
import { loadPackage } from './load-package.ts';
import type { Work } from './work.ts';

/**
 * Returns which of these objects are named by what runs of another package that does not run as desired yet, with that package: the
 * ConfigMap of an old pod, for example, that the release replaces by one of another name. A package that cannot be read names nothing.
 */
export const readNeededBy = async (
  { agent, target, operation }: Work,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { named } = target;
  if (!named || keys.length === 0) return new Map();
  const needed = new Map<string, string>();
  const others = readPackages(agent.state).filter(
    (row) => row.assignment !== operation.assignment && !runsAsDesired(row),
  );
  for (const { assignment, current } of others) {
    if (current?.kind !== target.kind) continue;
    try {
      const runs = await loadPackage(agent.state, agent.identity.agent, current, agent.signal);
      for (const key of named(runs, keys)) needed.set(key, assignment);
    } catch {
      // Its own operation reports why it cannot be read.
    }
  }
  return needed;
};

/** False for a package that leaves the release, or that an operator rolled back: it needs its objects as long as it runs. */
export const runsAsDesired = ({ current, desired, status }: PackageRow): boolean =>
  desired !== undefined && isSamePackage(current, desired) && status !== 'broken';
