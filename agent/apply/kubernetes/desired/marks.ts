import { durationMs } from '#bundles/duration';
import { defined } from '#bundles/defined';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { FIELD_MANAGER } from '../api/open-kubernetes-api.ts';
import { orderOf } from './order-of.ts';
import { listIn, words } from './words.ts';
import { type Adopt, ADOPTS } from './adopt.ts';
import type { RuleOfObject } from '#bundles/formats/bounds/object-rules';
import type { ObjectPolicy } from './wanted-object.ts';

/** Our annotations. The first two are on every object and name its owner, for people and for a lost inventory (docs/kubernetes.md). */
export const ASSIGNMENT_MARK = 'fleet-ferry/assignment';
export const FLEET_MARK = 'fleet-ferry/fleet';
const APPLY = 'fleet-ferry/apply';
const FIELDS = 'fleet-ferry/fields';
const FORCE = 'fleet-ferry/force';
const WITH_CONTENTS = 'with-contents';
const PRUNE = 'fleet-ferry/prune';
const WAIT = 'fleet-ferry/wait';
export const TIMEOUT = 'fleet-ferry/timeout';
export const DRIFT = 'fleet-ferry/drift';
export const CONFLICTS = 'fleet-ferry/conflicts';
export const IGNORE = 'fleet-ferry/ignore';
const IGNORE_MANAGERS = 'fleet-ferry/ignore-managers';
export const ADOPT = 'fleet-ferry/adopt';

/** Annotations of Helm that keep their meaning without it (docs/applications.md, "Meanings of Helm"). Ours win over them. */
const HELM_POLICY = 'helm.sh/resource-policy';
const HELM_HOOK = 'helm.sh/hook';
const HELM_DELETE = 'helm.sh/hook-delete-policy';

export type Owner = { readonly fleet: string; readonly assignment: string };

/**
 * The owner according to annotations that the agent itself wrote. Operators and controllers copy the annotations of an object to what they
 * make of it (a Deployment's to its ReplicaSets); the server's record of field managers is not copied, and says who wrote them. An object
 * without any record is taken at its annotations' word.
 */
export const ownerOf = (live: LiveObject): Owner | undefined =>
  isCopied(live) ? undefined : markedOwner(live);

/** @param uid of the owner's object in the inventory, which needs no record of who wrote the annotations */
export const isOwner = (live: LiveObject, owner: Owner, uid?: string): boolean =>
  isMarked(live, owner) && ((uid !== undefined && uid === live.metadata.uid) || !isCopied(live));

/** True if the annotations name the owner, by whatever manager they were written. */
export const isMarked = (live: LiveObject, owner: Owner): boolean => {
  const said = markedOwner(live);
  return said?.fleet === owner.fleet && said.assignment === owner.assignment;
};

const markedOwner = ({ metadata }: LiveObject): Owner | undefined => {
  const assignment = metadata.annotations?.[ASSIGNMENT_MARK];
  const fleet = metadata.annotations?.[FLEET_MARK];
  return assignment === undefined || fleet === undefined ? undefined : { fleet, assignment };
};

const isCopied = ({ metadata: { managedFields = [] } }: LiveObject): boolean =>
  managedFields.length > 0 &&
  !managedFields.some(({ manager, operation, fieldsV1 }) => {
    if (manager !== FIELD_MANAGER || operation !== 'Apply') return false;
    const metadata = (fieldsV1?.['f:metadata'] ?? {}) as { readonly 'f:annotations'?: object };
    return `f:${ASSIGNMENT_MARK}` in (metadata['f:annotations'] ?? {});
  });

/** @param rule of the platform for the object, which its annotations override */
export const policyOf = (own: Readonly<Record<string, unknown>>, rule?: RuleOfObject): ObjectPolicy => {
  const annotations = rule ? { ...asAnnotations(rule), ...own } : own;
  const apply = annotations[APPLY];
  return {
    apply: apply === 'ifNotPresent' || apply === 'ignore' ? apply : 'override',
    fields: annotations[FIELDS] === 'strict' ? 'strict' : 'merge',
    recreate: recreateOf(annotations),
    prune: (annotations[PRUNE] ?? (isKeptByHelm(annotations) ? 'disabled' : 'enabled')) !== 'disabled',
    wait: annotations[WAIT] !== 'disabled',
    order: orderOf(annotations),
    drift:
      annotations[DRIFT] === 'report' || annotations[DRIFT] === 'ignore' ? annotations[DRIFT] : 'correct',
    conflicts: annotations[CONFLICTS] === 'report' ? 'report' : 'force',
    ignore: { pointers: listIn(annotations[IGNORE]), managers: listIn(annotations[IGNORE_MANAGERS]) },
    ...defined({
      timeoutMs: timeoutOf(annotations[TIMEOUT]),
      adopt: adoptOf(own[ADOPT]),
      health: rule?.health,
      grants: rule?.adopt,
    }),
  };
};

const asAnnotations = (rule: RuleOfObject): Readonly<Record<string, string>> =>
  defined({
    [APPLY]: rule.apply,
    [CONFLICTS]: rule.conflicts,
    [DRIFT]: rule.drift,
    [IGNORE]: rule.ignore?.join(','),
    [IGNORE_MANAGERS]: rule.ignoreManagers?.join(','),
    [TIMEOUT]: rule.timeout,
    [WAIT]: rule.wait === false ? 'disabled' : undefined,
  }) as Record<string, string>;

/** The form of a timeout: '20m'. */
export const TIMEOUT_FORM = /^[1-9][0-9]{0,4}[smh]$/;

const timeoutOf = (written: unknown): number | undefined =>
  typeof written === 'string' && TIMEOUT_FORM.test(written) ? durationMs(written) : undefined;

const adoptOf = (written: unknown): Adopt | undefined => ADOPTS.find((one) => one === written);

const recreateOf = (annotations: Readonly<Record<string, unknown>>): ObjectPolicy['recreate'] => {
  const force = annotations[FORCE];
  if (force === WITH_CONTENTS) return WITH_CONTENTS;
  return force === undefined ? isReplacedByHelm(annotations) : force === 'enabled';
};

const isKeptByHelm = (annotations: Readonly<Record<string, unknown>>): boolean =>
  words(annotations[HELM_POLICY]).includes('keep');

/** Helm deletes the object of a hook before it creates the next one, or after it succeeded, unless only another policy is given. */
const isReplacedByHelm = (annotations: Readonly<Record<string, unknown>>): boolean => {
  if (typeof annotations[HELM_HOOK] !== 'string') return false;
  const policies = words(annotations[HELM_DELETE]);
  return policies.length === 0 || policies.some((word) => word !== 'hook-failed');
};
