import type { LiveObject } from '../api/kubernetes-api.ts';
import type { ObjectPolicy } from './wanted-object.ts';

/** Our annotations. The first two are on every object and name its owner (docs/kubernetes.md). */
export const ASSIGNMENT_MARK = 'fleet-ferry/assignment';
export const FLEET_MARK = 'fleet-ferry/fleet';
const APPLY = 'fleet-ferry/apply';
const FIELDS = 'fleet-ferry/fields';
const FORCE = 'fleet-ferry/force';
const WITH_CONTENTS = 'with-contents';
const PRUNE = 'fleet-ferry/prune';
const WAIT = 'fleet-ferry/wait';

export type Owner = { readonly fleet: string; readonly assignment: string };

/** The owner according to an object's annotations. */
export const ownerOf = ({ metadata }: LiveObject): Owner | undefined => {
  const assignment = metadata.annotations?.[ASSIGNMENT_MARK];
  const fleet = metadata.annotations?.[FLEET_MARK];
  return assignment === undefined || fleet === undefined ? undefined : { fleet, assignment };
};

export const isOwner = (object: LiveObject, owner: Owner): boolean => {
  const said = ownerOf(object);
  return said?.fleet === owner.fleet && said.assignment === owner.assignment;
};

export const policyOf = (annotations: Readonly<Record<string, unknown>>): ObjectPolicy => {
  const apply = annotations[APPLY];
  return {
    apply: apply === 'ifNotPresent' || apply === 'ignore' ? apply : 'override',
    fields: annotations[FIELDS] === 'strict' ? 'strict' : 'merge',
    recreate: annotations[FORCE] === WITH_CONTENTS ? WITH_CONTENTS : annotations[FORCE] === 'enabled',
    prune: annotations[PRUNE] !== 'disabled',
    wait: annotations[WAIT] !== 'disabled',
  };
};
