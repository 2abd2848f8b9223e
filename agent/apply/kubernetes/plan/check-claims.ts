import { FleetError } from '#bundles/errors';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { type Adopt, permits } from '../desired/adopt.ts';
import { ADOPT, ownerOf } from '../desired/marks.ts';
import { listOf } from '../desired/read-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { inParallel } from '../api/in-parallel.ts';
import { type Controller, controllerOf, describeController, isLive } from '../live/controller-of.ts';
import type { PlanContext, Takeover } from './plan-context.ts';

/**
 * Refuses a package with an object that another package owns according to our inventory, that has the mark of another fleet, or that it may
 * not take over (checklist A1, A2).
 * @returns the objects that it may take over, by key; one whose rule is `ifEqual` only after a dry run has shown no difference
 * @throws FleetError PATH_CLAIMED naming every such object and its owner; API_*, ABORTED
 */
export const checkClaims = async (context: PlanContext): Promise<ReadonlyMap<string, Takeover>> => {
  const { wanted, owner } = context;
  const takeovers = await findTakeovers(context);
  const claimed = (wanted?.objects ?? []).flatMap((object) => {
    const other = otherOwner(context, object);
    if (other !== undefined) return [`${nameOf(object)} belongs to ${other}`];
    const takeover = takeovers.get(object.key);
    return takeover && !mayTake(takeover, true) ? [`${nameOf(object)} ${whyRefused(takeover)}`] : [];
  });
  if (claimed.length === 0) return takeovers;
  const isTakeoverRefused = [...takeovers.values()].some((takeover) => !mayTake(takeover, true));
  throw new FleetError(
    'PATH_CLAIMED',
    `${owner.assignment} cannot own objects of others: ${listOf(claimed)}`,
    { hint: isTakeoverRefused ? HOW_TO_TAKE : HOW_TO_SEPARATE },
  );
};

const HOW_TO_SEPARATE =
  'Remove the object from one of the two, or its fleet-ferry annotations from the cluster';
export const HOW_TO_TAKE = `"fleet-agent diff --adopt" shows what a takeover would change. Remove the object from the other tool, without deleting it, and the agent continues automatically; or annotate it in the package with ${ADOPT}: always`;

/** A mark of our fleet without an inventory entry is left from a lost state: any package may take the object. */
const otherOwner = ({ taken, live, owner }: PlanContext, { key }: WantedObject): string | undefined => {
  const other = taken.get(key);
  if (other !== undefined) return other;
  const found = live.get(key);
  const said = found && ownerOf(found);
  return said && said.fleet !== owner.fleet ? `${said.assignment} of fleet ${said.fleet}` : undefined;
};

/** The existing objects without an owner of ours that the package has, with their controllers. */
export const findTakeovers = async (context: PlanContext): Promise<ReadonlyMap<string, Takeover>> => {
  const { wanted, live, owned, api, signal } = context;
  const unowned = (wanted?.objects ?? []).flatMap((object) => {
    const found = live.get(object.key);
    const isOurs = found !== undefined && owned.get(object.key)?.uid === found.metadata.uid;
    const canTake = found && found.metadata.deletionTimestamp === undefined && !isOurs;
    return canTake && object.policy.apply === 'override' && ownerOf(found) === undefined
      ? [[object, found] as const]
      : [];
  });
  const known = new Map<string, Promise<boolean>>();
  const stillManages = (controller: Controller): Promise<boolean> => {
    const key = JSON.stringify(controller);
    const asked = known.get(key) ?? isLive(api, controller, signal);
    known.set(key, asked);
    return asked;
  };
  const judged = await inParallel(unowned, async ([object, found]) => {
    const controller = controllerOf(found);
    const isOwned = controller !== undefined && (await stillManages(controller));
    const rules = rulesFor(context, object);
    const name = controller && describeController(controller);
    return [object.key, { live: found, controller: name, isOwned, rules }] as const;
  });
  return new Map(judged);
};

/** An object of the platform's packages decides itself; one of a workspace only within what the platform grants. */
const rulesFor = ({ options, rules }: PlanContext, { policy }: WantedObject): readonly Adopt[] => {
  const granted = policy.grants ?? rules.adopt ?? options.adopt;
  if (rules.isTenant) return [granted, policy.adopt ?? granted];
  return [policy.adopt ?? granted];
};

export const mayTake = ({ rules, isOwned }: Takeover, isEqual: boolean): boolean =>
  permits(rules, { isOwned, isEqual });

/** Why an object may not be taken over, after its name. */
export const whyRefused = ({ controller, isOwned, rules }: Takeover): string => {
  if (rules.includes('never')) return 'existed before the package, and its rule for takeovers is never';
  return isOwned
    ? `belongs to ${controller ?? 'somebody'}`
    : 'existed before the package, and differs from it';
};
