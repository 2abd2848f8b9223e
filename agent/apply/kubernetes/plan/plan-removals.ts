import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { Step } from '../../../model/target.ts';
import type { LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { isOwner, type Owner } from '../desired/marks.ts';
import { groupOf, refOf } from '../desired/object-key.ts';
import { findForeignDependent } from '../live/find-foreign-dependent.ts';
import { inParallel } from '../api/in-parallel.ts';
import { note, toStep } from '../kubernetes-step.ts';
import { servedRef } from '../api/served-ref.ts';
import { readLive } from '../live/read-live.ts';
import type { OwnedState } from '../owned-state.ts';
import { inKindOrder, isHolder, stageOf } from '../desired/kind-order.ts';
import type { PlanContext } from './plan-context.ts';
import { groupOfRemoval } from './step-groups.ts';

type Candidate = ObjectRef & {
  readonly namespace: string | undefined;
  readonly key: string;
  readonly group: string;
  readonly own: OwnedState;
};

/**
 * Plans removals: objects of the inventory that the package no longer has and that still have our mark, in reverse order of application
 * (checklist I3, O5).
 * @throws FleetError API_*, ABORTED
 */
export const planRemovals = async (context: PlanContext): Promise<readonly Step[]> => {
  const { api, owned, wanted, signal, live } = context;
  const leaving = [...owned].filter(([key]) => !wanted?.byKey.has(key));
  const found: Candidate[] = [];
  for (const [key, own] of leaving) {
    const ref = await servedRef(api, refOf(key, own.apiVersion), signal);
    if (ref) found.push({ ...ref, namespace: ref.namespace, key, group: groupOf(ref.apiVersion), own });
  }
  const unread = new Map<string, FleetError>();
  const alive = await readLive(api, found, signal, {
    onUnread: (key, error) => unread.set(key, error),
    metadataOnly: ({ apiVersion, kind }) => !isHolder({ group: groupOf(apiVersion), kind }),
  });
  const kept = new Set((wanted?.objects ?? []).flatMap(({ key }) => live.get(key)?.metadata.uid ?? []));
  const last = inKindOrder(found)
    .toReversed()
    .toSorted((a, b) => rankOf(b) - rankOf(a));
  const steps = await inParallel(last, async (one) => {
    const error = unread.get(one.key);
    return error ? planUnread(context, one, error) : planRemoval(context, one, alive.get(one.key), kept);
  });
  const served = new Set(found.map(({ key }) => key));
  const gone = leaving
    .filter(([key]) => !served.has(key))
    .map(([key]) => note(key, 'unchanged', 'the cluster no longer has its kind', groupOfRemoval(0, 0)));
  return [...steps, ...gone];
};

/**
 * The removal of an object whose webhook does not answer: an update that may repair the webhook does not wait for it.
 * @throws FleetError the error of reading it, for a whole package or an object that might stay
 */
const planUnread = ({ wanted }: PlanContext, one: Candidate, error: FleetError): Step => {
  const { key, own, apiVersion } = one;
  const { uid, assignment } = own;
  const mightStay = own.keep || own.adopted || own.provisional || own.replaced || isHolder(one);
  if (!wanted || uid === undefined || mightStay) throw error;
  const detail = { apiVersion, uid, assignment, ...defined({ by: own.by }) };
  return toStep(key, 'deleted', 'no longer in the package', { kind: 'remove', detail }, stepGroupOf(one));
};

const rankOf = ({ own }: Candidate): number => own.rank ?? 0;

const stepGroupOf = (one: Candidate): number => groupOfRemoval(rankOf(one), stageOf(one));

const planRemoval = async (
  context: PlanContext,
  one: Candidate,
  live: LiveObject | undefined,
  kept: ReadonlySet<string>,
): Promise<Step> => {
  const { key, own } = one;
  const group = stepGroupOf(one);
  const other = context.taken.get(key);
  if (other !== undefined) return note(key, 'unchanged', `now belongs to ${other}`, group);
  if (own.replaced && !own.keep) return planPutBack(context, one, own.replaced.digest, live);
  if (!live) return note(key, 'unchanged', 'it is gone already', group);
  const uid = live.metadata.uid ?? '';
  if (kept.has(uid))
    return note(key, 'unchanged', 'the package has it under another name of its kind', group);
  if (own.provisional && !own.adopted)
    return note(key, 'unchanged', 'it was there before the package was tried: it stays', group);
  const owner = { fleet: context.owner.fleet, assignment: own.assignment };
  if (!isOwner(live, owner, own.uid))
    return note(key, 'skipped', 'it no longer has the owner mark of this agent, so it is kept', group);
  const detail = { apiVersion: one.apiVersion, uid, assignment: own.assignment, ...defined({ by: own.by }) };
  const stays = await whyKept(context, one, owner, live);
  if (stays !== undefined) {
    const reason = `${stays}: it is kept, and the agent no longer manages it`;
    return toStep(key, 'skipped', reason, { kind: 'detach', detail }, group);
  }
  const reason = context.wanted ? 'no longer in the package' : 'the package goes';
  // What holds others may have got content since; what is being deleted already has been waited for.
  const isPlain = !isHolder(one) && live.metadata.deletionTimestamp === undefined;
  const known = defined({ resourceVersion: isPlain ? live.metadata.resourceVersion : undefined });
  return toStep(key, 'deleted', reason, { kind: 'remove', detail: { ...detail, ...known } }, group);
};

/** An object without a mark is restored already, or was never written. */
const planPutBack = (
  { owner, wanted }: PlanContext,
  one: Candidate,
  copy: Digest,
  live: LiveObject | undefined,
): Step => {
  const { key, own } = one;
  const { assignment } = own;
  const group = stepGroupOf(one);
  if (live && !isOwner(live, { fleet: owner.fleet, assignment }, own.uid))
    return note(key, 'skipped', 'it no longer has the owner mark of this agent, so it is kept', group);
  const why = wanted ? 'no longer in the package' : 'the package goes';
  const detail = { apiVersion: one.apiVersion, assignment, copy, ...defined({ by: own.by }) };
  const reason = `${why}: the state before the package is restored`;
  return toStep(key, 'configured', reason, { kind: 'put-back', detail }, group);
};

const whyKept = async (
  context: PlanContext,
  one: Candidate,
  owner: Owner,
  live: LiveObject,
): Promise<string | undefined> => {
  const { own } = one;
  if (own.keep) return 'it is marked to stay (fleet-ferry/prune or helm.sh/resource-policy)';
  if (own.adopted) return 'it was there before the package';
  if (!isHolder(one)) return undefined;
  if (context.wanted) return 'its kind is only deleted with the whole package';
  const held = await findForeignDependent(context.api, live, owner, context.signal);
  return held === undefined ? undefined : `it holds ${held}`;
};
