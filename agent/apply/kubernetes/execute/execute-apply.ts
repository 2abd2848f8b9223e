import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import type { ApplyOptions, JsonPatch, KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { isInvalid, refusalOf, describeRefusedFields } from '../api/refusal.ts';
import { stopIfAborted } from '../api/send.ts';
import { ownerOf } from '../desired/marks.ts';
import { isBuiltIn } from '../desired/is-built-in.ts';
import { isDefinition, typeKey, type Wanted } from '../desired/resolve-wanted.ts';
import { stableText } from '#bundles/json/stable-hash';
import type { WantedObject } from '../desired/wanted-object.ts';
import { isRecord } from '#bundles/is-record';
import { noteApplied, versionsAsApplied } from '../health/settle/current-as-applied.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import type { ApplyDetail } from '../kubernetes-step.ts';
import { withoutReplicas, withReplicas } from '../live/autoscaled.ts';
import { isCutShort } from '../live/emptied.ts';
import { fromLostVersion, migration, toMigrate } from '../live/foreign-managers.ts';
import { findConflicts } from '../live/find-conflicts.ts';
import { asIgnored, leavesFields } from '../live/ignored.ts';
import { withKept } from '../live/kept-fields.ts';
import { firstTaken, patched } from '../live/try-apply.ts';
import { appliedState, asJson } from '../owned-state.ts';
import { keepCopy } from '../replaced/copies.ts';
import { awaitDefinition } from './await-definition.ts';
import { awaitGone } from './await-gone.ts';
import { patchCurrent } from './patch-current.ts';
import { recreationFor } from '../live/recreation.ts';

type Applying = {
  readonly step: Step;
  readonly detail: ApplyDetail;
  readonly desired: DesiredPackage;
  /** The objects of `desired`. */
  readonly wanted: Wanted;
};

/**
 * Applies one object and returns its new state. Idempotent: obstacles are looked up again at each call.
 * @throws FleetError API_*, FIELD_CONFLICT, APPLY_FAILED
 */
export const executeApply = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  { wanted, desired, step, detail }: Applying,
  signal: AbortSignal,
): Promise<StepResult> => {
  const whole = wanted.byKey.get(step.key);
  const object = whole && (await asPlanned(api, whole, detail, signal));
  if (!object)
    throw new FleetError('APPLY_FAILED', `${step.key} is not in the package that the plan was made for`);
  const { copy, keeps } = detail;
  const isKept = copy === undefined || (await keepFirst(options, api, object, copy, signal));
  await deleteBlocking(options, api, object, detail, signal);
  const movesFields = detail.migrates || detail.takes !== undefined || detail.strips !== undefined;
  if (movesFields) await migrate(api, object, detail, signal);
  const definition = wanted.definedBy.get(typeKey(object));
  const isFresh = definition !== undefined && versionsAsApplied(desired).has(definition);
  const applied = await applyOrReplace(options, api, object, { detail, isFresh }, signal);
  const { live, created, replaced } = applied;
  const settled = isDefinition(object)
    ? await awaitDefinition(api, live, options.stepTimeoutMs, signal)
    : live;
  const untouched = !created && live.metadata.resourceVersion === detail.resourceVersion && !movesFields;
  noteApplied(desired, object, settled, !untouched);
  const notes = [
    ...(replaced && detail.replaces === null ? ['; replaced: a field of it cannot be changed'] : []),
    ...(isKept ? [] : [`; ${NOT_KEPT}`]),
  ];
  const written = created && !replaced ? 'created' : step.outcome;
  return {
    key: step.key,
    outcome: untouched ? 'unchanged' : written,
    reason: untouched ? 'as desired' : `${step.reason}${notes.join('')}`,
    state: asJson({
      ...appliedState(desired, object, settled),
      autoscaled: detail.autoscaled,
      keeps,
    }),
  };
};

const asPlanned = async (
  api: KubernetesApi,
  whole: WantedObject,
  detail: ApplyDetail,
  signal: AbortSignal,
): Promise<WantedObject> => {
  const live = detail.keeps || leavesFields(whole) ? await api.read(whole, signal) : undefined;
  const object = asIgnored(withOrWithoutReplicas(whole, detail), live);
  return live && detail.keeps ? withKept(object, live, detail.keeps) : object;
};

const withOrWithoutReplicas = (whole: WantedObject, { autoscaled, replicas }: ApplyDetail): WantedObject => {
  if (replicas !== undefined) return withReplicas(whole, replicas);
  return autoscaled ? withoutReplicas(whole) : whole;
};

const NOT_KEPT = 'no copy of it is kept: this agent has no age identity to seal a Secret to';

/** Copies an object without our mark, which we have not written yet. Returns false if it cannot be copied. */
const keepFirst = async (
  { copies }: KubernetesTargetOptions,
  api: KubernetesApi,
  object: WantedObject,
  copy: Digest,
  signal: AbortSignal,
): Promise<boolean> => {
  const live = await api.read(object, signal);
  return !live || ownerOf(live) !== undefined || keepCopy(copies, copy, live);
};

/** How long the server may judge objects by a definition from before its change. */
const FRESH_MS = 10_000;

/**
 * Applies, and makes the object again where the server lets no field of it change and the package allows that. A plan knows it before,
 * unless the definition of the object changes in the same release: then the server may also judge it by the old one for a moment.
 */
const applyOrReplace = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  object: WantedObject,
  { detail, isFresh }: { readonly detail: ApplyDetail; readonly isFresh: boolean },
  signal: AbortSignal,
): Promise<Applied & { readonly replaced: boolean }> => {
  for (const until = performance.now() + (isFresh ? FRESH_MS : 0); ; ) {
    try {
      return { ...(await applyAndMigrate(options, api, object, signal)), replaced: detail.replaces !== null };
    } catch (error) {
      if (!isFleetError(error, 'API_REFUSED') || detail.replaces !== null) throw error;
      const live = isInvalid(error) ? await api.read(object, signal) : undefined;
      const recreation = live ? await recreationFor(api, object, error, signal) : error;
      if (live && recreation === 'allowed') {
        await deleteBlocking(options, api, object, { ...detail, replaces: live.metadata.uid ?? '' }, signal);
        return { ...(await applyAndMigrate(options, api, object, signal)), replaced: true };
      }
      if (recreation !== error || performance.now() > until) throw recreation;
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }
};

/** For an object without managedFields, our apply makes the server record all its fields under another manager. */
const applyAndMigrate = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  object: WantedObject,
  signal: AbortSignal,
): Promise<Applied> => {
  let applied = await apply(options, api, object, signal);
  if (!isBuiltIn(object.group) && isCutShort(object.object, applied.live))
    applied = { ...(await apply(options, api, object, signal)), created: applied.created };
  if (toMigrate(applied.live, object.policy.fields).length === 0) return applied;
  await migrate(api, object, {}, signal);
  return { ...(await apply(options, api, object, signal)), created: applied.created };
};

type Applied = { readonly live: LiveObject; readonly created: boolean };

/** Objects that must be deleted first: one that is terminating (X3), one with an immutable field that changes (R1). */
const deleteBlocking = async (
  { stepTimeoutMs }: KubernetesTargetOptions,
  api: KubernetesApi,
  object: WantedObject,
  { replaces, awaits }: ApplyDetail,
  signal: AbortSignal,
): Promise<void> => {
  if (replaces !== null) {
    const propagation = (await keepsPods(api, object, signal)) ? 'Orphan' : 'Background';
    await api.remove(object, { uid: replaces, propagation }, signal);
  }
  const leaving = replaces ?? awaits;
  const held = leaving === null ? undefined : await awaitGone(api, object, leaving, stepTimeoutMs, signal);
  if (!held) return;
  throw new FleetError('APPLY_FAILED', `${held.message}; it was waited for ${stepTimeoutMs / 1000} s`, {
    hint: 'See why the controller that put the finalizer there does not remove it',
  });
};

/** The pods and claims of a StatefulSet with the same selector stay, and belong to the next one: no outage, and no volume is deleted. */
const keepsPods = async (api: KubernetesApi, wanted: WantedObject, signal: AbortSignal): Promise<boolean> => {
  if (wanted.group !== 'apps' || wanted.kind !== 'StatefulSet') return false;
  const live = await api.read(wanted, signal);
  return live !== undefined && selectorOf(live) === selectorOf(wanted.object);
};

const selectorOf = ({ spec }: LiveObject): string =>
  stableText(isRecord(spec) ? spec['selector'] : undefined);

const migrate = (
  api: KubernetesApi,
  object: WantedObject,
  taken: Pick<ApplyDetail, 'takes' | 'strips'>,
  signal: AbortSignal,
): Promise<void> =>
  patchCurrent(
    api,
    object,
    { operationsFor: (live) => migration(live, object.policy.fields, taken) },
    signal,
  );

/** Retries transient refusals: a namespace that is being recreated, a CRD that one of several API servers does not know yet. */
const isTransient = (error: FleetError): boolean =>
  error.code === 'CLUSTER_LACKS' && (isUnknownKind(error) || isTerminating(error));
const isUnknownKind = (error: FleetError): boolean => {
  const refusal = refusalOf(error);
  return refusal === undefined || (refusal.code === 404 && refusal.name === undefined);
};
const isTerminating = (error: FleetError): boolean =>
  refusalOf(error)?.causes.some(({ reason }) => reason === 'NamespaceTerminating') === true;
const RETRIED: ReadonlySet<string> = new Set(['API_REFUSED', 'ADMISSION_DENIED', 'CLUSTER_LACKS']);
const PAUSE_MS = 300;
const MAX_RETRY_MS = 15_000;
/** Upper bound on removals of conflicting fields in one apply. A refusal after that has another cause, or somebody writes the fields again. */
const MAX_CLEARED = 5;

const apply = async (
  { stepTimeoutMs }: KubernetesTargetOptions,
  api: KubernetesApi,
  wanted: WantedObject,
  signal: AbortSignal,
): Promise<Applied> => {
  const { object, secret } = wanted;
  const options: ApplyOptions = defined({
    force: wanted.policy.conflicts === 'force',
    secret: secret ? true : undefined,
  });
  // Later the step is tried again behind all others.
  const until = performance.now() + Math.min(stepTimeoutMs, MAX_RETRY_MS);
  for (let cleared = 0; ; ) {
    stopIfAborted(signal);
    try {
      const { object: live, created } = await api.apply(object, options, signal);
      return { live, created };
    } catch (error) {
      if (!isFleetError(error) || !RETRIED.has(error.code) || performance.now() > until) throw error;
      if (cleared < MAX_CLEARED && (await clear(api, wanted, error, signal))) {
        cleared += 1;
        continue;
      }
      if (!isTransient(error)) throw error;
      if (isUnknownKind(error)) api.forgetTypes();
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }
};

/** Removes what is in the way if the server refuses the apply because of it. @throws FleetError its verdict on the package's object */
const clear = async (
  api: KubernetesApi,
  wanted: WantedObject,
  refused: FleetError,
  signal: AbortSignal,
): Promise<boolean> => {
  const lost = refusalOf(refused)?.lostVersion;
  if (lost !== undefined) {
    await patchCurrent(api, wanted, { operationsFor: (found) => fromLostVersion(found, lost) }, signal);
    return true;
  }
  const live = await api.read(wanted, signal);
  if (!live) return false;
  const asRead: JsonPatch = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: live.metadata.resourceVersion ?? '',
  };
  try {
    const ways = findConflicts(live, wanted.object, describeRefusedFields(refused));
    const found = await firstTaken(ways, refused, (operations) =>
      patched(api, wanted, [asRead, ...operations], { dryRun: false }, signal),
    );
    if (!isFleetError(found)) return true;
    if (found !== refused) throw found;
    return false;
  } catch (error) {
    // The object changed meanwhile and is read again.
    if (!isFleetError(error, 'FIELD_CONFLICT')) throw error;
    return true;
  }
};
