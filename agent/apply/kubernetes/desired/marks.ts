import type { LiveObject } from '../api/kubernetes-api.ts';
import type { ObjectPolicy } from './wanted-object.ts';

/** Annotations of ours: the first two are written to every object and say whose it is (docs/kubernetes.md). */
export const ASSIGNMENT_MARK = 'fleet-ferry/assignment';
export const FLEET_MARK = 'fleet-ferry/fleet';
const APPLY = 'fleet-ferry/apply';
const FIELDS = 'fleet-ferry/fields';
const FORCE = 'fleet-ferry/force';
const PRUNE = 'fleet-ferry/prune';
const WAIT = 'fleet-ferry/wait';

export type Owner = { readonly fleet: string; readonly assignment: string };

/** Whose an object says it is. */
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
    recreate: annotations[FORCE] === 'enabled',
    prune: annotations[PRUNE] !== 'disabled',
    wait: annotations[WAIT] !== 'disabled',
  };
};
