import { FleetError, isFleetError } from '#bundles/errors';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { refusalOf } from '../api/refusal.ts';
import { stopIfAborted } from '../api/send.ts';
import { isDefinition } from '../desired/resolve-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { isEstablished } from '../health/is-established.ts';
import { inParallel } from '../api/in-parallel.ts';
import { nameSome } from '#bundles/name-some';
import { toStep } from '../kubernetes-step.ts';
import { asJson } from '../owned-state.ts';
import { unblockedBy } from './unblocked-by.ts';
import { inKindOrder, isNamespace } from '../desired/kind-order.ts';
import type { PlanContext } from './plan-context.ts';
import { type ObjectPlan, planObject } from './plan-object.ts';
import { REFUSED_GROUP } from './step-groups.ts';

/**
 * Plans the application of every object of the package, in order. A dry run of all objects comes before the first write; the error lists
 * all refusals (checklist P3, P5).
 * @throws FleetError API_REFUSED, CLUSTER_LACKS, API_DENIED, FIELD_CONFLICT; API_UNREACHABLE, ABORTED
 */
export const planApplies = async (context: PlanContext): Promise<readonly ObjectPlan[]> => {
  const objects = inRankOrder(context);
  const changing = new Set(objects.filter((wanted) => isChanging(context, wanted)).map(({ key }) => key));
  const refused: { readonly wanted: WantedObject; readonly error: FleetError }[] = [];
  const plans = await inParallel(objects, async (wanted) => {
    try {
      return await planObject(context, wanted, changing);
    } catch (error) {
      stopIfAborted(context.signal);
      const cured = isFleetError(error) ? unblockedBy(context, wanted, error) : undefined;
      if (cured !== undefined) return planObject(context, wanted, changing, cured);
      if (!isFleetError(error) || (error.retryable && error.code !== 'CLUSTER_LACKS')) throw error;
      refused.push({ wanted, error: withPlace(error, wanted) });
      return undefined;
    }
  });
  const accepted = plans.filter((plan) => plan !== undefined);
  if (refused.length === 0) return withWaits(context, accepted);
  // On the way back and in a correction each object is applied on its own.
  const isUseful = context.ranBefore && accepted.some(({ step }) => step.kind === 'apply');
  if (!isUseful) throw combineRefusals(refused.map(({ error }) => error));
  return [
    ...withWaits(context, accepted),
    ...refused.map(({ wanted, error }) => planRefused(context, wanted, error)),
  ];
};

const inRankOrder = ({ wanted, ranks }: PlanContext): readonly WantedObject[] => {
  const rankOf = ({ key }: WantedObject): number => ranks.get(key) ?? 0;
  return inKindOrder(wanted?.objects ?? []).toSorted((a, b) => rankOf(a) - rankOf(b));
};

/**
 * Puts a wait before each rank that has changes, for all objects before it. The way back and a correction keep the order, and wait for
 * nothing: what is broken may be what they repair.
 */
const withWaits = (context: PlanContext, plans: readonly ObjectPlan[]): readonly ObjectPlan[] => {
  if (context.ranBefore) return plans;
  const { ranks, wanted } = context;
  const rankOf = ({ step }: ObjectPlan): number => ranks.get(step.key) ?? 0;
  const changed = new Set(plans.filter(({ step }) => step.kind === 'apply').map(rankOf));
  let waitedFor = 0;
  return plans.flatMap((plan, index) => {
    const rank = rankOf(plan);
    const isFirst = index > 0 && rankOf(plans[index - 1] as ObjectPlan) < rank;
    if (!isFirst || !changed.has(rank)) return [plan];
    const before = plans.slice(waitedFor, index).flatMap(({ step }) => wanted?.byKey.get(step.key) ?? []);
    waitedFor = index;
    const keys = before
      .filter(({ policy }) => policy.apply !== 'ignore' && policy.wait)
      .map(({ key }) => key);
    return keys.length === 0 ? [plan] : [waitFor(keys, rank), plan];
  });
};

const waitFor = (keys: readonly string[], rank: number): ObjectPlan => {
  const reason = `${nameSome(keys, MAX_WAITED)} ${keys.length === 1 ? 'is' : 'are'} waited for before the next objects`;
  return {
    step: toStep(`order:${rank}`, 'skipped', reason, { kind: 'await', detail: { keys } }),
    owns: undefined,
  };
};

/** Objects that the reason of a wait names. */
const MAX_WAITED = 3;

/** An object that was refused is tried after all others and fails the package if it is refused again. */
const planRefused = ({ owned }: PlanContext, wanted: WantedObject, error: FleetError): ObjectPlan => {
  const { key, apiVersion } = wanted;
  const own = owned.get(key);
  const detail = {
    apiVersion,
    resourceVersion: null,
    awaits: null,
    replaces: null,
    migrates: false,
    adopts: false,
  };
  return {
    step: toStep(key, 'configured', error.message, { kind: 'apply', detail }, REFUSED_GROUP),
    owns: own && { key, state: asJson(own) },
  };
};

/** A CRD or namespace that will change. Objects that depend on it cannot be tried before. */
const isChanging = ({ live, owned }: PlanContext, wanted: WantedObject): boolean => {
  const found: LiveObject | undefined = live.get(wanted.key);
  if (isNamespace(wanted)) {
    return !found || found.metadata.deletionTimestamp !== undefined;
  }
  if (!isDefinition(wanted)) return false;
  return !found || !isEstablished(found) || owned.get(wanted.key)?.wanted !== wanted.hash;
};

const withPlace = (error: FleetError, wanted: WantedObject): FleetError => {
  const refusal = refusalOf(error);
  const isNamespaceMissing = error.code === 'CLUSTER_LACKS' && refusal?.kind === 'namespaces';
  const { hint, code } = error;
  const message = isNamespaceMissing
    ? `${wanted.kind} ${wanted.name} wants namespace ${refusal.name}, which is neither on the cluster nor in the package`
    : error.message;
  return new FleetError(code, `${message} [${wanted.place}]`, {
    cause: error,
    hint,
  });
};

const MAX_LISTED = 10;

const combineRefusals = (refusals: readonly FleetError[]): FleetError => {
  const [first] = refusals as [FleetError];
  if (refusals.length === 1) return first;
  const sorted = refusals.map(({ message }) => message).toSorted();
  const more = sorted.length - MAX_LISTED;
  const listed = sorted.slice(0, MAX_LISTED).join('; ') + (more > 0 ? `; and ${more} more` : '');
  const codes = refusals.map(({ code }) => code);
  // What the cluster lacks or denies may pass, so a refusal of the content is the reason that the package fails.
  const code =
    codes.find((one) => one === 'API_DENIED') ??
    codes.find((one) => one !== 'CLUSTER_LACKS' && one !== 'ADMISSION_DENIED') ??
    codes.find((one) => one === 'ADMISSION_DENIED') ??
    first.code;
  return new FleetError(code, `${refusals.length} objects would be refused: ${listed}`, {
    hint: first.hint,
  });
};
