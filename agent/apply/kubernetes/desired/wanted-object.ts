import type { KeyedHash } from '../../../model/package-secrets.ts';
import type { LiveObject } from '../api/kubernetes-api.ts';

/** One object of a package as it shall be: site values and owner marks in it. */
export type WantedObject = {
  /** `apiGroup/Kind/namespace/name`; '' stands for the core group and for no namespace: '/ConfigMap/default/web'. */
  readonly key: string;
  readonly group: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** What is sent to the server. */
  readonly object: LiveObject;
  /** Digest of `object`, as hex; of one with secrets a keyed one. */
  readonly hash: string;
  /** Of an object with secrets: what is kept of its content is hashed by this, and nobody repeats the server's words of it. */
  readonly secret?: KeyedHash;
  /** File and document in the package, for messages: 'manifests/app.yaml (document 2)'. */
  readonly place: string;
  /** What annotations of the object say (docs/kubernetes.md). */
  readonly policy: ObjectPolicy;
};

export type ObjectPolicy = {
  /** fleet-ferry/apply: ifNotPresent leaves a live one alone, ignore never touches it. */
  readonly apply: 'override' | 'ifNotPresent' | 'ignore';
  /**
   * What happens to fields that others add by hand: `merge` reports them, fleet-ferry/fields: strict removes them (checklist
   * S4). Controllers' fields stay in both.
   */
  readonly fields: 'merge' | 'strict';
  /** fleet-ferry/force: enabled deletes and creates where a field cannot be changed. */
  readonly recreate: boolean;
  /** fleet-ferry/prune: disabled lets it stay (without owner mark) when it leaves the package. */
  readonly prune: boolean;
  /** fleet-ferry/wait: disabled leaves it out of the health check. */
  readonly wait: boolean;
};
