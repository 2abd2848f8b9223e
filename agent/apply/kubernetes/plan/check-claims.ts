import { FleetError } from '#bundles/errors';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { ownerOf } from '../desired/marks.ts';
import { listOf } from '../desired/read-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import type { PlanContext } from './plan-context.ts';

/**
 * Refuses a package with an object that another package owns according to our inventory, or that has the mark of another fleet
 * (checklist A1, A2). @throws FleetError PATH_CLAIMED naming every such object and its owner
 */
export const checkClaims = ({ wanted, taken, live, owner, options }: PlanContext): void => {
  const claimed = (wanted?.objects ?? []).flatMap((object) => {
    const other = taken.get(object.key) ?? foreignOwner(live.get(object.key), owner.fleet);
    if (other !== undefined) return [`${nameOf(object)} belongs to ${other}`];
    return options.adopt === 'none' && isUnowned(object, live.get(object.key))
      ? [`${nameOf(object)} existed before the package and has no owner`]
      : [];
  });
  if (claimed.length === 0) return;
  throw new FleetError(
    'PATH_CLAIMED',
    `${owner.assignment} cannot own objects of others: ${listOf(claimed)}`,
    {
      hint: 'Remove the object from one of the two, or its fleet-ferry annotations from the cluster',
    },
  );
};

/** A mark of our fleet without an inventory entry is left from a lost state: any package may take the object. */
const foreignOwner = (live: LiveObject | undefined, fleet: string): string | undefined => {
  const said = live && ownerOf(live);
  return said && said.fleet !== fleet ? `${said.assignment} of fleet ${said.fleet}` : undefined;
};

const isUnowned = ({ policy }: WantedObject, live: LiveObject | undefined): boolean =>
  policy.apply === 'override' && live !== undefined && ownerOf(live) === undefined;
