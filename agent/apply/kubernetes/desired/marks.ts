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

/** Annotations of Helm that keep their meaning without it (docs/applications.md, "Meanings of Helm"). Ours win over them. */
const HELM_POLICY = 'helm.sh/resource-policy';
const HELM_HOOK = 'helm.sh/hook';
const HELM_DELETE = 'helm.sh/hook-delete-policy';

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
    recreate: recreateOf(annotations),
    prune: (annotations[PRUNE] ?? (isKeptByHelm(annotations) ? 'disabled' : 'enabled')) !== 'disabled',
    wait: annotations[WAIT] !== 'disabled',
  };
};

const recreateOf = (annotations: Readonly<Record<string, unknown>>): ObjectPolicy['recreate'] => {
  const force = annotations[FORCE];
  if (force === WITH_CONTENTS) return WITH_CONTENTS;
  return force === undefined ? isReplacedByHelm(annotations) : force === 'enabled';
};

const words = (value: unknown): readonly string[] =>
  typeof value === 'string' ? value.split(',').map((word) => word.trim().toLowerCase()) : [];

const isKeptByHelm = (annotations: Readonly<Record<string, unknown>>): boolean =>
  words(annotations[HELM_POLICY]).includes('keep');

/** Helm deletes the object of a hook before it creates the next one, or after it succeeded, unless only another policy is given. */
const isReplacedByHelm = (annotations: Readonly<Record<string, unknown>>): boolean => {
  if (typeof annotations[HELM_HOOK] !== 'string') return false;
  const policies = words(annotations[HELM_DELETE]).filter((word) => word !== '');
  return policies.length === 0 || policies.some((word) => word !== 'hook-failed');
};
