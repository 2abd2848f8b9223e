import { defined } from '#bundles/defined';
import type { OwnedObject, Step } from '../../../model/target.ts';
import type { ApplyOptions, LiveObject } from '../api/kubernetes-api.ts';
import { isInvalid, refusedFields } from '../api/refusal.ts';
import { isOwner, ownerOf } from '../desired/marks.ts';
import { isDefinition } from '../desired/resolve-wanted.ts';
import { isFailureHook, isHook, removesItself, type WantedObject } from '../desired/wanted-object.ts';
import { isEstablished } from '../health/is-established.ts';
import { type ApplyDetail, note, toStep } from '../kubernetes-step.ts';
import { type FleetError, isFleetError } from '#bundles/errors';
import { asIgnored, leavesFields } from '../live/ignored.ts';
import { asAutoscaled } from '../live/autoscaled.ts';
import { differences, formatFields, fieldsTakenOver } from '../live/differences.ts';
import { deployersOf } from '../live/deploy-tools.ts';
import { fingerprint } from '../live/fingerprint.ts';
import { deployersIn, toMigrate } from '../live/foreign-managers.ts';
import { tryApply, type TriedApply } from '../live/try-apply.ts';
import { pathsOf } from '../live/field-set.ts';
import { orphanedFields, writtenOf } from '../live/written.ts';
import { unblockedBy } from './unblocked-by.ts';
import { recreationFor } from '../live/recreation.ts';
import { copyName } from '../replaced/copies.ts';
import { asJson, type OwnedState } from '../owned-state.ts';
import { isHolder, stageOf } from '../desired/kind-order.ts';
import { groupOfApplication } from './step-groups.ts';
import { claimsStay } from './claims-stay.ts';
import { dependsOn } from './depends-on.ts';
import { mayTake } from './check-claims.ts';
import { type Comparison, compareTakeover, describeTakeover, refuseTakeover } from './compare-takeover.ts';
import type { PlanContext, Takeover } from './plan-context.ts';

export type ObjectPlan = {
  readonly step: Step;
  /** undefined: not managed (fleet-ferry/apply: ignore). */
  readonly owns: OwnedObject | undefined;
};

/** One object that is being planned. */
type Planning = {
  readonly context: PlanContext;
  /** The object of the package, with the fields that are left to others; `wanted` lacks them. */
  readonly whole: WantedObject;
  readonly wanted: WantedObject;
  readonly own: OwnedState | undefined;
  readonly live: LiveObject | undefined;
  /** Of the object before the step. */
  readonly state: OwnedState;
  readonly detail: ApplyDetail;
  /** Why a dry run of the object is not possible yet; undefined if it is. */
  readonly later: string | undefined;
  /** Present if the object exists and no package of ours owns it. */
  readonly takeover: Takeover | undefined;
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
  const live = context.live.get(whole.key);
  const wanted = asIgnored(asAutoscaled(whole, context.autoscaled), live);
  const own = ownEntryOf(context.owned.get(wanted.key), live);
  if (wanted.policy.apply === 'ignore') return left(context, wanted, 'fleet-ferry/apply: ignore', own, live);
  if (wanted.policy.apply === 'ifNotPresent' && live)
    return left(context, wanted, 'it is there, and fleet-ferry/apply is ifNotPresent', own, live);

  const later = untried ?? dependsOn(context, wanted, changing);
  const takeover = context.takeovers.get(wanted.key);
  const planning = {
    context,
    whole,
    wanted,
    own,
    live,
    later,
    takeover,
    ...beforeStep(context, wanted, own, live),
  };
  const unread = context.unread.get(wanted.key);
  if (unread) {
    const cured = own && unblockedBy(context, wanted, unread);
    if (cured === undefined) throw unread;
    return applied(planning, 'configured', cured);
  }
  if (isFailureHook(wanted)) return await planFailureHook(planning);
  if (isHook(wanted) && context.ranBefore) return planHookOnWayBack(planning);
  if (!live || live.metadata.deletionTimestamp !== undefined) return await planAbsent(planning);
  return await planPresent(planning, live);
};

/** The state to store, and the detail of an apply, as far as they are known before anything is tried. */
const beforeStep = (
  context: PlanContext,
  wanted: WantedObject,
  own: OwnedState | undefined,
  live: LiveObject | undefined,
): Pick<Planning, 'state' | 'detail'> => {
  // The agent takes over no object that is being deleted: it creates the next one.
  const there = live?.metadata.deletionTimestamp === undefined ? live : undefined;
  const state = stateBefore(context, wanted, own, there);
  const detail: ApplyDetail = defined({
    apiVersion: wanted.apiVersion,
    resourceVersion: live?.metadata.resourceVersion ?? null,
    awaits: null,
    replaces: null,
    migrates: false,
    adopts: there !== undefined && !own && ownerOf(there) === undefined,
    // An entry without uid is of an object that was never written: refused before, or left by a conflict.
    copy: state.replaced && own?.uid === undefined ? state.replaced.digest : undefined,
    autoscaled: context.autoscaled.scaled.has(wanted.key) || undefined,
    replicas: context.autoscaled.handed.get(wanted.key),
  });
  return { state, detail };
};

/** Steps of one rank and stage run together. */
const groupOf = ({ context, wanted }: Pick<Planning, 'context' | 'wanted'>): number =>
  groupOfApplication(context.ranks.get(wanted.key) ?? 0, stageOf(wanted));

const done = (
  { wanted, state }: Planning,
  step: Step,
  more: { [K in keyof OwnedState]?: OwnedState[K] | undefined } = {},
): ObjectPlan => ({ step, owns: { key: wanted.key, state: asJson({ ...state, ...more }) } });

const applied = (
  planning: Planning,
  outcome: 'created' | 'configured',
  reason: string,
  more: Partial<ApplyDetail> = {},
): ObjectPlan => {
  const { wanted, detail } = planning;
  const action = { kind: 'apply', detail: { ...detail, ...more } } as const;
  return done(planning, toStep(wanted.key, outcome, reason, action, groupOf(planning)));
};

/** Hooks run forward only: the state is as after their run, so that a look finds no difference. */
const planHookOnWayBack = (planning: Planning): ObjectPlan => {
  const { context, wanted, own, live } = planning;
  const reason = 'a hook does not run on the way back or in a correction';
  const ran = live
    ? seen(context, wanted, live)
    : defined({ of: context.packageId, wanted: wanted.hash, hash: own?.hash, secret: own?.secret });
  return done(planning, note(wanted.key, 'unchanged', reason, groupOf(planning)), ran);
};

/** Owned from the start, so that the package's removal finds it, and applied only after a failure (execute-failure-hooks.ts). */
const planFailureHook = async (planning: Planning): Promise<ObjectPlan> => {
  const { context, wanted, own, live, later } = planning;
  const isTried = live !== undefined || later !== undefined || own?.wanted === wanted.hash;
  if (!isTried) await context.api.apply(wanted.object, asTrial(wanted), context.signal);
  const said = note(wanted.key, 'unchanged', 'it runs only if the package fails', groupOf(planning));
  const known = live ? seen(context, wanted, live) : { of: context.packageId, wanted: wanted.hash };
  return done(planning, said, known);
};

/** A hook that ran with this version of the package does not run again, whatever has become of its object. */
const hasRun = ({ context, wanted, own }: Planning): boolean =>
  own?.wanted === wanted.hash && (!isHook(wanted) || own.of === context.packageId);

/** Plans an object that is not there, or is being deleted. */
const planAbsent = async (planning: Planning): Promise<ObjectPlan> => {
  const { context, wanted, own, live, later } = planning;
  if (live) {
    const reason = 'it is being deleted: made again when it is gone';
    return applied(planning, 'created', reason, { resourceVersion: null, awaits: live.metadata.uid ?? null });
  }
  if (later === undefined && own && removesItself(wanted) && hasRun(planning)) {
    const { hash, secret } = own;
    const reason = 'it ran, and was removed since';
    const kept = defined({ of: context.packageId, wanted: wanted.hash, hash, secret });
    return done(planning, note(wanted.key, 'unchanged', reason, groupOf(planning)), kept);
  }
  if (later === undefined) await context.api.apply(wanted.object, asTrial(wanted), context.signal);
  return applied(planning, 'created', 'it is not there', { resourceVersion: null, awaits: null });
};

/** Plans an object that is there, by a dry run unless hashes show that nothing changes. */
const planPresent = async (planning: Planning, live: LiveObject): Promise<ObjectPlan> => {
  const migrated = toMigrate(live, planning.wanted.policy.fields);
  return planUntried(planning, live, migrated) ?? (await planByTrial(planning, live, migrated));
};

/** @throws FleetError APPLY_FAILED if the package may not take over the object that it would change */
const allowed = ({ wanted, takeover }: Planning, plan: ObjectPlan): ObjectPlan => {
  if (takeover && !mayTake(takeover, false)) throw refuseTakeover(wanted, takeover);
  return plan;
};

/** An object that is there and is not changed. */
const staysAsSeen = (
  planning: Planning,
  live: LiveObject,
  outcome: 'unchanged' | 'skipped',
  reason: string,
): ObjectPlan => {
  const { context, wanted } = planning;
  return done(planning, note(wanted.key, outcome, reason, groupOf(planning)), seen(context, wanted, live));
};

/** Plans an object that needs no dry run; undefined for one that needs it. */
const planUntried = (
  planning: Planning,
  live: LiveObject,
  migrated: readonly string[],
): ObjectPlan | undefined => {
  const { wanted, own, later } = planning;
  if (isDefinition(wanted) && !isEstablished(live))
    return allowed(planning, applied(planning, 'configured', 'it is not established yet'));
  if (isHook(wanted) && own && !hasRun(planning))
    return applied(planning, 'configured', 'it runs again with the new version of the package', {
      replaces: live.metadata.uid ?? '',
    });
  if (own && migrated.length === 0 && isUntouched(own, wanted, live))
    return staysAsSeen(planning, live, 'unchanged', 'as desired');
  if (leavesDrift(planning)) {
    const reason = 'what others changed stays (fleet-ferry/drift)';
    return done(planning, note(wanted.key, 'unchanged', reason, groupOf(planning)), own);
  }
  if (later === undefined) return undefined;
  return allowed(planning, applied(planning, 'configured', later, stripsWhen(planning, live)));
};

const planByTrial = async (
  planning: Planning,
  live: LiveObject,
  migrated: readonly string[],
): Promise<ObjectPlan> => {
  const { context, wanted, own, takeover } = planning;
  const tried = await tryOver(context, wanted, live);
  if (isFleetError(tried)) {
    const conflict = note(wanted.key, 'skipped', `it stays as it is: ${tried.message}`, groupOf(planning));
    return done(planning, conflict, { of: context.packageId, wanted: own?.wanted ?? wanted.hash });
  }
  if (tried === 'immutable') {
    const reason = `replaced: a field of it cannot be changed${claimsStay(wanted, live)}`;
    return allowed(planning, applied(planning, 'configured', reason, { replaces: live.metadata.uid ?? '' }));
  }
  if (tried === 'stored')
    return staysAsSeen(
      planning,
      live,
      'skipped',
      'it stays as it is: the cluster has stored objects of a version that the package lacks',
    );
  const taking = takeover && (await compareTakeover({ context, wanted, takeover, tried }));
  if (takeover && taking && !mayTake(takeover, taking.isEqual))
    throw refuseTakeover(wanted, takeover, taking);
  return planTried(planning, live, migrated, { ...tried, taking });
};

/** Plans an object by what a dry run of it shows. @param migrated managers whose fields become ours */
const planTried = (
  planning: Planning,
  live: LiveObject,
  migrated: readonly string[],
  { dry, removes, keeps, taking }: TriedApply & { readonly taking: Comparison | undefined },
): ObjectPlan => {
  const { context, wanted, takeover } = planning;
  const kept = someOf(keeps);
  const takes = fieldsToRemove(planning, live);
  const reasons = [
    ...removes.map((added) => `${added} is removed: the server refuses the package's beside it`),
    ...(takeover && taking ? describeTakeover(takeover, taking) : []),
    ...markChange(live, context),
    ...(migrated.length > 0 && !taking ? [`fields of ${migrated.join(', ')} become ours`] : []),
    ...(takes ? [`${formatFields(pathsOf(takes))} of the last release is removed`] : []),
    ...keeps.map((path) => `${path} stays as it is: the server does not let it go back`),
    ...describeDifferences(differences(live, dry)),
    ...fieldsTakenOver(live, dry).map((taken) => `takes ${taken}`),
  ];
  const reason = reasons.join('; ');
  if (reasons.length === keeps.length && ownsSame(live, dry)) {
    const unchanged = note(wanted.key, 'unchanged', reason || 'as desired', groupOf(planning));
    return done(planning, unchanged, { ...seen(context, wanted, live), keeps: kept });
  }
  const strips = someOf(taking?.strips ?? []);
  const more = defined({ migrates: migrated.length > 0, strips, takes, keeps: kept });
  return applied(
    planning,
    'configured',
    reason || 'the fields that belong to the package are recorded',
    more,
  );
};

/** Fields of the last release that the package no longer has. */
const fieldsToRemove = (
  { whole, wanted, own }: Planning,
  live: LiveObject,
): ReturnType<typeof orphanedFields> | undefined => {
  const { object } = leavesFields(whole) ? whole : wanted;
  return own && orphanedFields(own.written, live, object, own.before);
};

const someOf = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

/** A correction of other objects of the package does not touch one whose differences are only reported, or ignored. */
const leavesDrift = ({ context, wanted, own }: Planning): boolean =>
  context.ranBefore &&
  wanted.policy.drift !== 'correct' &&
  own?.of === context.packageId &&
  own.wanted === wanted.hash;

/** Managers to strip in the apply of an object that is taken over and cannot be tried before. */
const stripsWhen = ({ context, takeover }: Planning, live: LiveObject): Partial<ApplyDetail> => {
  const strips = takeover ? deployersIn(live, context.options.deployers) : [];
  return strips.length > 0 ? { strips } : {};
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
  context: PlanContext,
  wanted: WantedObject,
  reason: string,
  own: OwnedState | undefined,
  live: LiveObject | undefined,
): ObjectPlan => ({
  step: note(wanted.key, 'skipped', reason, groupOf({ context, wanted })),
  owns:
    own && live && isOwner(live, context.owner, own.uid)
      ? {
          key: wanted.key,
          state: asJson({ ...own, ...defined({ keep: keptBy(wanted) }) }),
        }
      : undefined,
});

const keptBy = ({ policy }: WantedObject): true | undefined => (policy.prune ? undefined : true);

/** The state to store before the step, without fields that are only known after it. */
const stateBefore = (
  { owner, appliedBy, options, ranks }: PlanContext,
  wanted: WantedObject,
  own: OwnedState | undefined,
  live: LiveObject | undefined,
): OwnedState => {
  const isNew = live !== undefined && own?.assignment !== owner.assignment;
  const adopts = own ? own.adopted : isNew && ownerOf(live) === undefined;
  const replaced = own ? own.replaced : adopts && live && { digest: copyName(wanted.key, live) };
  const before = own ? own.before : adopts && live && deployersLeft(live, wanted, options.deployers);
  return defined({
    apiVersion: wanted.apiVersion,
    assignment: owner.assignment,
    uid: own?.uid,
    written: own?.written,
    adopted: adopts || undefined,
    replaced: replaced || undefined,
    before: before ? someOf(before) : undefined,
    provisional: isNew || own?.provisional ? true : undefined,
    keep: keptBy(wanted),
    rank: ranks.get(wanted.key) || undefined,
    by: appliedBy(wanted.key),
  });
};

/** Managers of what deployed an object, except those whose fields become ours. */
const deployersLeft = (
  live: LiveObject,
  wanted: WantedObject,
  named: readonly string[] | undefined,
): readonly string[] => {
  const stripped = deployersIn(live, named);
  return deployersOf(live, wanted.object).filter((manager) => !stripped.includes(manager));
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

const describeDifferences = (paths: readonly string[]): readonly string[] =>
  paths.length === 0 ? [] : [`${formatFields(paths)} differ${paths.length === 1 ? 's' : ''}`];

const tryOver = async (
  { api, ranBefore, owned, signal }: PlanContext,
  wanted: WantedObject,
  live: LiveObject,
): Promise<TriedApply | 'immutable' | 'stored' | FleetError> => {
  try {
    const kept = owned.get(wanted.key)?.keeps;
    // A claim that the failed release has grown stays so, and the rest is rolled back.
    const isStuck = ranBefore && (isHolder(wanted) || wanted.policy.recreate === false);
    return await tryApply(api, wanted, live, signal, (path) => isStuck || kept?.includes(path) === true);
  } catch (error) {
    if (wanted.policy.conflicts === 'report' && isFleetError(error, 'FIELD_CONFLICT')) return error;
    if (!isInvalid(error)) throw error;
    // A definition never goes back behind a version in which objects were stored. The rest of the package does.
    const isStored = (field: string): boolean => field.startsWith('status.storedVersions');
    if (ranBefore && isDefinition(wanted) && refusedFields(error).some(isStored)) return 'stored';
    const recreation = await recreationFor(api, wanted, error, signal);
    if (recreation === 'allowed') return 'immutable';
    throw recreation;
  }
};
