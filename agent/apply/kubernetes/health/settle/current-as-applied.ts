import type { DesiredPackage } from '../../../target.ts';
import type { LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import { hasStatus } from '../judge.ts';
import { judgeWanted } from './judge-wanted.ts';
import { SETTLE_DEFAULTS } from './settle-options.ts';

const known = new WeakMap<DesiredPackage, Set<string>>();

/** Kinds that have a status and yet are what they will be when the server answers. */
const AT_ONCE: ReadonlySet<string> = new Set(['/Namespace', '/Service']);

/**
 * Keeps in mind that an object was Current in the answer to its own application. Only of kinds that no controller has to work on:
 * the others' status may be that of the object before.
 */
export const noteApplied = (desired: DesiredPackage, wanted: WantedObject, live: LiveObject): void => {
  if (hasStatus(wanted) && !AT_ONCE.has(`${wanted.group}/${wanted.kind}`)) return;
  const context = {
    now: new Date(0),
    loadBalancer: SETTLE_DEFAULTS.loadBalancer,
    lateBinding: new Set<string>(),
  };
  const keys = known.get(desired) ?? new Set();
  if (judgeWanted(wanted, live, context, false).status === 'Current') keys.add(wanted.key);
  else keys.delete(wanted.key);
  known.set(desired, keys);
};

/** Keys of what this process applied of the package and need not be looked at again. */
export const currentAsApplied = (desired: DesiredPackage): ReadonlySet<string> =>
  known.get(desired) ?? new Set();
