import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import type { Releases } from '../write/open-releases.ts';
import { appendEntries } from './append-entry.ts';
import { signChange } from './sign-change.ts';

/**
 * Signs a change that is made without the hub's database and appends it to the audit log; durable when this returns.
 * @returns false if the root has no audit key: nothing was written
 * @throws FleetError the codes of appendEntry
 */
export const recordChange = async (
  releases: Releases,
  keys: KeyDirectory,
  change: Omit<ChangePredicate, 'fleet' | 'time' | 'critical'>,
  now: Date,
): Promise<boolean> => {
  if (keys.root.audit.length === 0) return false;
  const predicate = { ...change, fleet: keys.root.fleet, time: formatTime(now), critical: [] };
  await appendEntries(releases, keys, [await signChange(predicate, await keys.key('audit'))], { now });
  return true;
};
