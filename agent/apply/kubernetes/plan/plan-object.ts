import { defined } from '#bundles/defined';
import type { OwnedObject, Step } from '../../../model/target.ts';
import type { ApplyOptions, LiveObject } from '../api/kubernetes-api.ts';
import { isInvalid, refusedFields } from '../api/refusal.ts';
import { isOwner, ownerOf } from '../desired/marks.ts';
import { isDefinition, typeKey } from '../desired/resolve-wanted.ts';
import { isRecord } from '#bundles/is-record';
import { removesItself, type WantedObject } from '../desired/wanted-object.ts';
import { isEstablished } from '../health/is-established.ts';
import { type ApplyDetail, note, toStep } from '../kubernetes-step.ts';
import { asAutoscaled } from '../live/autoscaled.ts';
import { differences, formatFields, fieldsTakenOver } from '../live/differences.ts';
import { deployersOf, toolMarks } from '../live/deploy-tools.ts';
import { fingerprint } from '../live/fingerprint.ts';
import { toMigrate } from '../live/foreign-managers.ts';
import { tryApply, type TriedApply } from '../live/try-apply.ts';
import { pathsOf } from '../live/field-set.ts';
import { orphanedFields, writtenOf } from '../live/written.ts';
import { unblockedBy } from './unblocked-by.ts';
import { recreationFor } from '../live/recreation.ts';
import { copyName } from '../replaced/copies.ts';
import { asJson, type OwnedState } from '../owned-state.ts';
import { isHolder, stageOf } from '../desired/kind-order.ts';
import type { PlanContext } from './plan-context.ts';

export type ObjectPlan = {
  readonly step: Step;
  /** undefined: not managed (fleet-ferry/apply: ignore). */
  readonly owns: OwnedObject | undefined;
};

/**
 * Plans the change of one object, by a dry run unless hashes show that nothing changes.
 * @param changing keys of CRDs and namespaces of this package that will be created or changed; objects that depend on them cannot be
 * tried yet (checklist P4) @param untried why the object cannot be tried yet, for another reason
 * @throws FleetError API_* if the object would be refused
 */
export const planObject = async (
  context: PlanContext,
  whole: WantedObject,
  changing: ReadonlySet<string>,
  untried?: string,
): Promise<ObjectPlan> => {
  const wanted = asAutoscaled(whole, context.autoscaled);
  const autoscaled = context.autoscaled.scaled.has(whole.key);
  const replicas = context.autoscaled.handed.get(whole.key);
  const live = context.live.get(wanted.key);
  const group = stageOf(wanted);
  const own = ownEntryOf(context.owned.get(wanted.key), live);
  if (wanted.policy.apply === 'ignore') return left(context, wanted, 'fleet-ferry/apply: ignore', own, live);
  if (wanted.policy.apply === 'ifNotPresent' && live)
    return left(context, wanted, 'it is there, and fleet-ferry/apply is ifNotPresent', own, live);

  // The agent takes over no object that is being deleted: it creates the next one.
  const there = live?.metadata.deletionTimestamp === undefined ? live : undefined;
  const adopts = there !== undefined && !own && ownerOf(there) === undefined;
  const state = stateBefore(context, wanted, own, there);
  const done = (
    step: Step,
    more: { [K in keyof OwnedState]?: OwnedState[K] | undefined } = {},
  ): ObjectPlan => ({
    step,
    owns: { key: wanted.key, state: asJson({ ...state, ...more }) },
  });
  const detail: ApplyDetail = defined({
    apiVersion: wanted.apiVersion,
    resourceVersion: live?.metadata.resourceVersion ?? null,
    awaits: null,
    replaces: null,
    migrates: false,
    adopts,
    copy: state.replaced && !own ? state.replaced.digest : undefined,
    autoscaled: autoscaled || undefined,
    replicas,
  });
  const apply = (outcome: 'created' | 'configured', reason: string, more: Partial<ApplyDetail> = {}) =>
    done(toStep(wanted.key, outcome, reason, { kind: 'apply', detail: { ...detail, ...more } }, group));

  const unread = context.unread.get(wanted.key);
  if (unread) {
    const cured = own && unblockedBy(context, wanted, unread);
    if (cured === undefined) throw unread;
    return apply('configured', cured);
  }
  const later = untried ?? dependsOn(context, wanted, changing);
  if (!live && later === undefined && own?.wanted === wanted.hash && removesItself(wanted)) {
    const { hash, secret } = own;
    const ran = note(wanted.key, 'unchanged', 'it ran, and the server removed it after its time', group);
    const kept = defined({ of: context.packageId, wanted: wanted.hash, hash });
    return done(ran, { ...kept, ...defined({ secret }) });
  }
  if (!live || live.metadata.deletionTimestamp !== undefined) {
    if (later === undefined && !live) await context.api.apply(wanted.object, asTrial(wanted), context.signal);
    const reason = live ? 'it is being deleted: made again when it is gone' : 'it is not there';
    return apply('created', reason, { resourceVersion: null, awaits: live?.metadata.uid ?? null });
  }
  if (isDefinition(wanted) && !isEstablished(live)) return apply('configured', 'it is not established yet');
  const migrated = toMigrate(live, wanted.policy.fields);
  if (own && migrated.length === 0 && isUntouched(own, wanted, live)) {
    return done(note(wanted.key, 'unchanged', 'as it shall be', group), seen(context, wanted, live));
  }
  if (later !== undefined) return apply('configured', later);
  const tried = await tryOver(context, wanted, live);
  if (tried === 'immutable') {
    const reason = 'replaced: a field of it cannot be changed';
    return apply('configured', reason, { replaces: live.metadata.uid ?? '' });
  }
  if (tried === 'stored') {
    const reason = 'it stays as it is: the cluster has stored objects of a version that the package lacks';
    return done(note(wanted.key, 'skipped', reason, group), seen(context, wanted, live));
  }
  const { dry, removes, keeps } = tried;
  const takes = own && orphanedFields(own.written, live, wanted.object, own.before);
  const reasons = [
    ...removes.map((added) => `${added} is removed: the server refuses the package's beside it`),
    ...(adopts ? ['it was there before and belonged to nobody', ...describeMarks(live)] : []),
    ...markChange(live, context),
    ...(migrated.length > 0 ? [`fields of ${migrated.join(', ')} become ours`] : []),
    ...(takes ? [`${formatFields(pathsOf(takes))} of the last release is removed`] : []),
    ...keeps.map((path) => `${path} stays as it is: the server does not let it go back`),
    ...describeDifferences(differences(live, dry)),
    ...fieldsTakenOver(live, dry).map((taken) => `takes ${taken}`),
  ];
  if (reasons.length === keeps.length && ownsSame(live, dry)) {
    const unchanged = note(wanted.key, 'unchanged', reasons.join('; ') || 'as it shall be', group);
    return done(unchanged, { ...seen(context, wanted, live), keeps: keeps.length > 0 ? keeps : undefined });
  }
  const reason = reasons.join('; ') || 'what is ours of it is recorded';
  return apply(
    'configured',
    reason,
    defined({
      migrates: migrated.length > 0,
      takes,
      keeps: keeps.length > 0 ? keeps : undefined,
    }),
  );
};

/**
 * The inventory's entry of an object, unless another object has its name by now: one with another uid that the agent did not write,
 * whatever its annotations say.
 */
const ownEntryOf = (own: OwnedState | undefined, live: LiveObject | undefined): OwnedState | undefined => {
  if (!live || own?.uid === undefined || own.uid === live.metadata.uid) return own;
  return ownerOf(live) === undefined ? undefined : own;
};

const asTrial = ({ secret }: WantedObject): ApplyOptions =>
  defined({
    dryRun: true,
    force: true,
    secret: secret ? true : undefined,
  });

/** An existing object that is not changed; it stays in the inventory if it was ours. */
const left = (
  { owner }: PlanContext,
  wanted: WantedObject,
  reason: string,
  own: OwnedState | undefined,
  live: LiveObject | undefined,
): ObjectPlan => ({
  step: note(wanted.key, 'skipped', reason, stageOf(wanted)),
  owns:
    own && live && isOwner(live, owner, own.uid)
      ? {
          key: wanted.key,
          state: asJson({ ...own, ...defined({ keep: wanted.policy.prune ? undefined : true }) }),
        }
      : undefined,
});

/** The state to store before the step, without fields that are only known after it. */
const stateBefore = (
  { owner }: PlanContext,
  wanted: WantedObject,
  own: OwnedState | undefined,
  live: LiveObject | undefined,
): OwnedState => {
  const isNew = live !== undefined && own?.assignment !== owner.assignment;
  const adopts = own ? own.adopted : isNew && ownerOf(live) === undefined;
  const replaced = own ? own.replaced : adopts && live && { digest: copyName(wanted.key, live) };
  const found = !own && adopts && live ? deployersOf(live, wanted.object) : undefined;
  const before = own ? own.before : found;
  return defined({
    apiVersion: wanted.apiVersion,
    assignment: owner.assignment,
    uid: own?.uid,
    written: own?.written,
    adopted: adopts || undefined,
    replaced: replaced || undefined,
    before: before && before.length > 0 ? before : undefined,
    provisional: isNew || own?.provisional ? true : undefined,
    keep: !wanted.policy.prune ? true : undefined,
  });
};

const seen = (
  { packageId, autoscaled, owned }: PlanContext,
  { key, hash, secret }: WantedObject,
  live: LiveObject,
): Partial<OwnedState> => {
  const own = owned.get(key);
  const stored = fingerprint(live, secret);
  return defined({
    of: packageId,
    wanted: hash,
    autoscaled: autoscaled.scaled.has(key) ? true : undefined,
    hash: stored,
    keeps: own?.keeps ? own.keeps : undefined,
    written: (own?.hash === stored ? own.written : undefined) ?? writtenOf(live),
    secret: secret ? true : undefined,
    uid: live.metadata.uid,
  });
};

/** True if our fields are unchanged since we wrote them and still desired, so that no request is needed (S2). */
const isUntouched = (own: OwnedState, wanted: WantedObject, live: LiveObject): boolean =>
  own.wanted === wanted.hash &&
  own.uid === live.metadata.uid &&
  own.hash === fingerprint(live, wanted.secret);

const ownsSame = (live: LiveObject, dry: LiveObject): boolean => fingerprint(live) === fingerprint(dry);

const markChange = (live: LiveObject, { owner }: PlanContext): readonly string[] => {
  const said = ownerOf(live);
  return said && said.assignment !== owner.assignment ? [`it belonged to ${said.assignment}`] : [];
};

const describeMarks = (live: LiveObject): readonly string[] => {
  const marks = toolMarks(live);
  return marks.length === 0 ? [] : [`${marks.join(', ')} may still consider it its own`];
};

const describeDifferences = (paths: readonly string[]): readonly string[] =>
  paths.length === 0 ? [] : [`${formatFields(paths)} differ${paths.length === 1 ? 's' : ''}`];

/** Why a dry run of the object is not possible yet, or undefined if it is. */
const dependsOn = (
  { wanted: all, live }: PlanContext,
  wanted: WantedObject,
  changing: ReadonlySet<string>,
): string | undefined => {
  const missing = neededBy(wanted).find((key) => all?.byKey.has(key) && !live.has(key));
  if (missing !== undefined) return `${missing} is made first`;
  if (all?.later.has(typeKey(wanted))) return 'its kind comes with another object of the package';
  const crd = all?.definedBy.get(typeKey(wanted));
  if (crd !== undefined && changing.has(crd)) return 'its definition changes first';
  if (wanted.namespace === undefined) return undefined;
  return changing.has(`/Namespace//${wanted.namespace}`) ? 'its namespace is made first' : undefined;
};

/** Keys of objects without which the server's admission refuses an object: those that a Pod or a binding names. */
const neededBy = ({ group, kind, namespace = '', object }: WantedObject): readonly string[] => {
  const { spec, roleRef } = object;
  if (group === 'rbac.authorization.k8s.io' && isRecord(roleRef)) {
    const place = roleRef['kind'] === 'Role' ? namespace : '';
    return [`${group}/${String(roleRef['kind'])}/${place}/${String(roleRef['name'])}`];
  }
  if (group !== '' || kind !== 'Pod' || !isRecord(spec)) return [];
  return [
    `/ServiceAccount/${namespace}/${String(spec['serviceAccountName'])}`,
    `scheduling.k8s.io/PriorityClass//${String(spec['priorityClassName'])}`,
    `node.k8s.io/RuntimeClass//${String(spec['runtimeClassName'])}`,
  ];
};

const tryOver = async (
  { api, ranBefore, owned, signal }: PlanContext,
  wanted: WantedObject,
  live: LiveObject,
): Promise<TriedApply | 'immutable' | 'stored'> => {
  try {
    const kept = owned.get(wanted.key)?.keeps;
    // A claim that the failed release has grown stays so, and the rest is rolled back.
    const isStuck = ranBefore && (isHolder(wanted) || wanted.policy.recreate === false);
    return await tryApply(api, wanted, live, signal, (path) => isStuck || kept?.includes(path) === true);
  } catch (error) {
    if (!isInvalid(error)) throw error;
    // A definition never goes back behind a version in which objects were stored. The rest of the package does.
    const isStored = (field: string): boolean => field.startsWith('status.storedVersions');
    if (ranBefore && isDefinition(wanted) && refusedFields(error).some(isStored)) return 'stored';
    const recreation = await recreationFor(api, wanted, error, signal);
    if (recreation === 'allowed') return 'immutable';
    throw recreation;
  }
};
