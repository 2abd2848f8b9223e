import type { DesiredPackage } from '../../../../model/target.ts';
import type { LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import { hasStatus } from '../judge.ts';
import { judgeWanted } from './judge-wanted.ts';
import { SETTLE_DEFAULTS } from './settle-options.ts';

type Applied = { readonly current: Set<string>; readonly versions: Map<string, string> };

const known = new WeakMap<DesiredPackage, Applied>();

/** Kinds with a status that are complete as soon as the server has stored them. */
const AT_ONCE: ReadonlySet<string> = new Set(['/Namespace', '/Service']);

/**
 * Records an object that was just applied: its new resourceVersion if it changed, and whether it was Current in the response. The latter
 * only for kinds without a controller, because the status of other kinds may be from before the change.
 */
export const noteApplied = (
  desired: DesiredPackage,
  wanted: WantedObject,
  live: LiveObject,
  changed: boolean,
): void => {
  const { key, group, kind } = wanted;
  const noted = known.get(desired) ?? { current: new Set(), versions: new Map() };
  known.set(desired, noted);
  if (changed) noted.versions.set(key, live.metadata.resourceVersion ?? '');
  if (wanted.policy.health) return;
  if (hasStatus(wanted) && !AT_ONCE.has(`${group}/${kind}`)) return;
  const context = {
    now: new Date(0),
    loadBalancer: SETTLE_DEFAULTS.loadBalancer,
    lateBinding: new Set<string>(),
  };
  if (judgeWanted(wanted, live, context, false).status === 'Current') noted.current.add(key);
  else noted.current.delete(key);
};

/** Keys of objects of the package that this process applied and that were Current then. */
export const currentAsApplied = (desired: DesiredPackage): ReadonlySet<string> =>
  known.get(desired)?.current ?? new Set();

/** Key -> new resourceVersion of objects that this process changed when it applied the package. */
export const versionsAsApplied = (desired: DesiredPackage): ReadonlyMap<string, string> =>
  known.get(desired)?.versions ?? new Map();
