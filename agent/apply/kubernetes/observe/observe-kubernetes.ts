import type { PackageSecrets } from '../../../model/package-secrets.ts';
import type { DesiredPackage, Drift, OwnedObject } from '../../../model/target.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { isRefusal } from '../api/refusal.ts';
import { isOwner, type Owner } from '../desired/marks.ts';
import { refOf } from '../desired/object-key.ts';
import { resolveWanted } from '../desired/resolve-wanted.ts';
import { removesItself, type WantedObject } from '../desired/wanted-object.ts';
import { inParallel } from '../api/in-parallel.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import { isFleetError } from '#bundles/errors';
import { asIgnored } from '../live/ignored.ts';
import { asAutoscaled, isScaled, readAutoscaled } from '../live/autoscaled.ts';
import { differences, lastManager, formatFields } from '../live/differences.ts';
import { isReported } from '../live/deploy-tools.ts';
import { extrasOf } from '../live/extras.ts';
import { fingerprint } from '../live/fingerprint.ts';
import { toMigrate } from '../live/foreign-managers.ts';
import { readLive } from '../live/read-live.ts';
import { tryApply, type TriedApply } from '../live/try-apply.ts';
import { type OwnedState, packageId, stateOf } from '../owned-state.ts';

/**
 * Returns the drift of a package on the cluster (checklist D1, D4): names of fields, never values. An object with an unchanged
 * fingerprint costs only its entry in a list, and the package is not parsed while all are unchanged.
 * @throws FleetError API_*; as readWanted: an error never counts as no drift
 */
export const observeKubernetes = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  desired: DesiredPackage,
  owned: readonly OwnedObject[],
  signal: AbortSignal,
  onRead: (live: ReadonlyMap<string, LiveObject>) => void = () => {},
): Promise<readonly Drift[]> => {
  const states = owned.map((object) => ({ key: object.key, own: stateOf(object) }));
  const refs = states.map(({ key, own }) => refOf(key, own.apiVersion));
  const found = await readLive(api, refs, signal);
  onRead(found);
  const of = packageId(desired);
  const suspects = new Set(
    states
      .filter(({ key, own }) => {
        const live = found.get(key);
        const mayBeScaled = own.autoscaled || (live !== undefined && isScaled(live));
        return mayBeScaled || own.keeps !== undefined || !isUntouched(own, of, live, desired.secrets);
      })
      .map(({ key }) => key),
  );
  const handled = new Set(
    states
      .filter(({ key, own }) =>
        found.get(key)?.metadata.managedFields?.some((entry) => isReported(entry, own.before)),
      )
      .map(({ key }) => key),
  );
  const isComplete = states.length > 0 && states.every(({ own }) => own.of === of);
  if (suspects.size === 0 && handled.size === 0 && isComplete) return [];
  const wanted = await resolveWanted(api, options.fleet, desired, signal);
  const known = new Map(states.map(({ key, own }) => [key, own]));
  const doubtful = wanted.objects.filter(
    ({ key, policy }) =>
      policy.apply !== 'ignore' &&
      policy.drift !== 'ignore' &&
      (suspects.has(key) || !known.has(key) || (policy.fields === 'strict' && handled.has(key))),
  );
  const unread = doubtful.filter(({ key }) => !known.has(key));
  const live = new Map([...found, ...(await readLive(api, unread, signal))]);
  const autoscaled = await readAutoscaled(api, { live, wanted: wanted.objects }, signal);
  const judged = await inParallel(doubtful, async (whole) => {
    const { key } = whole;
    const object = asIgnored(asAutoscaled(whole, autoscaled), live.get(key));
    const own = known.get(key);
    const owner = { fleet: options.fleet, assignment: desired.assignment, uid: own?.uid, keeps: own?.keeps };
    if (isDone(object, own, live.get(key))) return undefined;
    const drift = await judge(api, object, live.get(key), owner, signal);
    return drift && whole.policy.drift === 'report' ? { ...drift, stays: true as const } : drift;
  });
  const drifts = judged.filter((drift) => drift !== undefined);
  const reported = new Set(drifts.map(({ key }) => key));
  const extended = wanted.objects.filter(({ key }) => handled.has(key) && !reported.has(key));
  const added = await inParallel(extended, async (object) => {
    const live = found.get(object.key) as LiveObject;
    const { apply, fields, drift } = object.policy;
    if (apply !== 'override' || drift === 'ignore' || toMigrate(live, fields).length > 0) return undefined;
    return extrasOf(api, object, live, known.get(object.key)?.before, signal);
  });
  return [...drifts, ...added.filter((drift) => drift !== undefined)];
};

const isUntouched = (
  own: OwnedState,
  of: string,
  live: LiveObject | undefined,
  secrets: PackageSecrets | undefined,
): boolean =>
  live !== undefined &&
  own.of === of &&
  own.uid === live.metadata.uid &&
  live.metadata.deletionTimestamp === undefined &&
  own.hash === fingerprint(live, own.secret && secrets?.hash) &&
  toMigrate(live, 'merge').length === 0;

/** True for a hook, or a Job with a TTL, that ran as the package has it, and that was removed since. */
const isDone = (object: WantedObject, own: OwnedState | undefined, live: LiveObject | undefined): boolean =>
  !live && own?.wanted === object.hash && removesItself(object);

const judge = async (
  api: KubernetesApi,
  object: WantedObject,
  live: LiveObject | undefined,
  owner: Owner & Pick<Partial<OwnedState>, 'keeps'> & { readonly uid: string | undefined },
  signal: AbortSignal,
): Promise<Drift | undefined> => {
  const { key, policy } = object;
  const name = nameOf(object);
  if (!live) return { key, what: 'missing', message: `${name} is not there` };
  if (policy.apply === 'ifNotPresent') return undefined;
  if (live.metadata.deletionTimestamp !== undefined)
    return { key, what: 'missing', message: `${name} is being deleted` };
  if (policy.conflicts !== 'report' && !isOwner(live, owner, owner.uid))
    return { key, what: 'owner', message: `${name} is not marked as ours` };
  const theirs = toMigrate(live, policy.fields);
  if (theirs.length > 0)
    return { key, what: 'content', message: `${name} has fields of ${theirs.join(', ')}` };
  const drifts = (message: string): Drift => ({ key, what: 'content', message: `${name}: ${message}` });
  let compared: Compared;
  try {
    compared = await compare(api, object, live, signal, owner.keeps);
  } catch (error) {
    if (policy.conflicts === 'report' && isFleetError(error, 'FIELD_CONFLICT'))
      return { ...drifts(`it stays as it is: ${error.message}`), what: 'conflict', stays: true };
    if (!isRefusal(error)) throw error;
    // Drift of this object only, so that the agent still corrects the other objects of the package.
    return drifts(`it differs, and the server refuses the package's: ${error.message}`);
  }
  const { dry, removes, keeps } = compared.tried;
  if (removes.length > 0) return drifts(`the server refuses the package's beside ${removes.join(', ')}`);
  const paths = differences(compared.live, dry);
  if (paths.length === 0 && keeps.length > 0) {
    const stays = keeps.length === 1 ? 'stays as it is' : 'stay as they are';
    const message = `${formatFields(keeps)} ${stays} and not as in the package: the server does not let it go back`;
    return { ...drifts(message), stays: true };
  }
  if (paths.length === 0) return undefined;
  const manager = lastManager(compared.live);
  const by = manager === undefined ? '' : ` (last written by ${manager})`;
  return drifts(`${formatFields(paths)} differ${paths.length === 1 ? 's' : ''}${by}`);
};

type Compared = { readonly tried: TriedApply; readonly live: LiveObject };

/** Reads again after a write in between: the dry run is made on what the server has by then. */
const MAX_READS = 3;

const compare = async (
  api: KubernetesApi,
  wanted: WantedObject,
  found: LiveObject,
  signal: AbortSignal,
  kept: readonly string[] = [],
): Promise<Compared> => {
  let live = found;
  for (let reads = 1; ; reads += 1) {
    const tried = await tryApply(api, wanted, live, signal, (path) => kept.includes(path));
    if (tried.dry.metadata.resourceVersion === live.metadata.resourceVersion || reads === MAX_READS)
      return { tried, live };
    live = (await api.read(wanted, signal)) ?? live;
  }
};
