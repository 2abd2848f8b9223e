import type { DesiredPackage } from '../../../../model/target.ts';
import type { LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import { hasStatus } from '../judge.ts';
import { judgeWanted } from './judge-wanted.ts';
import { SETTLE_DEFAULTS } from './settle-options.ts';

type Applied = { readonly current: Set<string>; readonly versions: Map<string, string> };

const known = new WeakMap<DesiredPackage, Applied>();

/** Kinds that have a status and yet are what they will be when the server answers. */
const AT_ONCE: ReadonlySet<string> = new Set(['/Namespace', '/Service']);

/**
 * Keeps in mind an object that was just applied: its resourceVersion where that changed it, and whether it was Current in the
 * answer. The latter only of kinds that no controller has to work on: the others' status may be that of the object before.
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
  if (hasStatus(wanted) && !AT_ONCE.has(`${group}/${kind}`)) return;
  const context = {
    now: new Date(0),
    loadBalancer: SETTLE_DEFAULTS.loadBalancer,
    lateBinding: new Set<string>(),
  };
  if (judgeWanted(wanted, live, context, false).status === 'Current') noted.current.add(key);
  else noted.current.delete(key);
};

/** Keys of what this process applied of the package and need not be looked at again. */
export const currentAsApplied = (desired: DesiredPackage): ReadonlySet<string> =>
  known.get(desired)?.current ?? new Set();

/** Keys of what this process changed by applying the package, with the resourceVersion that this made. */
export const versionsAsApplied = (desired: DesiredPackage): ReadonlyMap<string, string> =>
  known.get(desired)?.versions ?? new Map();
