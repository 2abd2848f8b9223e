import type { KeyedHash } from '../../../model/package-secrets.ts';
import { isRecord } from '#bundles/is-record';
import type { LiveObject } from '../api/kubernetes-api.ts';
import type { Adopt } from './adopt.ts';
import type { RuleOfObject } from '#bundles/formats/bounds/object-rules';
import type { ObjectOrder } from './order-of.ts';

/** The desired state of one object, with site values and owner marks. */
export type WantedObject = {
  /** `apiGroup/Kind/namespace/name`; '' stands for the core group and for no namespace: '/ConfigMap/default/web'. */
  readonly key: string;
  readonly group: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** The body of the apply request. */
  readonly object: LiveObject;
  /** Digest of `object`, as hex; of one with secrets a keyed one. */
  readonly hash: string;
  /** Present for an object with secrets: hashes of its content that are stored use this key, and server messages are not repeated. */
  readonly secret?: KeyedHash;
  /** True if its kind has no status subresource, so that `status` is a field of the object. */
  readonly statusIsField?: boolean;
  /** File and document in the package, for messages: 'manifests/app.yaml (document 2)'. */
  readonly place: string;
  /** Options from annotations of the object (docs/kubernetes.md). */
  readonly policy: ObjectPolicy;
};

export type ObjectPolicy = {
  /** fleet-ferry/apply: ifNotPresent does not change an existing object, ignore never touches it. */
  readonly apply: 'override' | 'ifNotPresent' | 'ignore';
  /**
   * Handling of fields that people add: `merge` reports them, fleet-ferry/fields: strict removes them (checklist S4). Fields of
   * controllers stay in both cases.
   */
  readonly fields: 'merge' | 'strict';
  /**
   * fleet-ferry/force: enabled deletes and recreates the object if an immutable field changes; `with-contents` also one whose deletion
   * deletes other objects or data.
   */
  readonly recreate: boolean | 'with-contents';
  /** fleet-ferry/prune: disabled keeps the object, without owner mark, when the package no longer has it. */
  readonly prune: boolean;
  /** fleet-ferry/wait: disabled excludes it from the health check. */
  readonly wait: boolean;
  readonly order: ObjectOrder;
  /** fleet-ferry/timeout: how long it may take to become healthy, in milliseconds. undefined: as all objects. */
  readonly timeoutMs?: number;
  /** fleet-ferry/drift: `report` leaves a difference until the next release, `ignore` does not look for it. */
  readonly drift: 'correct' | 'report' | 'ignore';
  /** fleet-ferry/conflicts: report leaves an object unchanged of which another applier owns a field with another value (checklist S5). */
  readonly conflicts: 'force' | 'report';
  /** fleet-ferry/ignore, fleet-ferry/ignore-managers: fields that keep their live values (checklist S6). */
  readonly ignore: { readonly pointers: readonly string[]; readonly managers: readonly string[] };
  /** CEL by which the platform judges the health of its kind, instead of the agent's rule. */
  readonly health?: NonNullable<RuleOfObject['health']>;
  /** Which existing object may be taken over by the platform's rule for its kind. undefined: as for the package. */
  readonly grants?: Adopt;
  /** fleet-ferry/adopt: which existing object without an owner of ours may be taken over. undefined: as the platform says. */
  readonly adopt?: Adopt;
};

/** True for a Job or Pod that runs once with each version of the package. */
export const isHook = ({ group, kind, policy }: WantedObject): boolean =>
  policy.order.isHook && (`${group}/${kind}` === 'batch/Job' || `${group}/${kind}` === '/Pod');

/** True for an object that is applied only after its package failed. */
export const isFailureHook = ({ policy }: Pick<WantedObject, 'policy'>): boolean =>
  policy.order.phase === 'failed';

/**
 * True for a hook, and for a Job that the server deletes after its end (ttlSecondsAfterFinished). That it does not exist is no difference,
 * and it must not run again for that.
 */
export const removesItself = (wanted: WantedObject): boolean => {
  const { group, kind, object } = wanted;
  const { spec } = object;
  const isDeleted =
    group === 'batch' &&
    kind === 'Job' &&
    isRecord(spec) &&
    typeof spec['ttlSecondsAfterFinished'] === 'number';
  return isDeleted || isHook(wanted) || isFailureHook(wanted);
};
