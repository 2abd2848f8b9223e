import type { Json } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { defined } from '#bundles/defined';
import type { DesiredPackage, OwnedObject } from '../../model/target.ts';
import type { LiveObject } from './api/kubernetes-api.ts';
import type { WantedObject } from './desired/wanted-object.ts';
import { fingerprint } from './live/fingerprint.ts';
import { writtenOf } from './live/written.ts';

/** The inventory record of an object: names and hashes, never content. */
export type OwnedState = {
  readonly apiVersion: string;
  /** The assignment in its owner mark. */
  readonly assignment: string;
  /** Identity of the package that `wanted` and `hash` belong to. */
  readonly of?: string;
  /** Hash of the package's object. */
  readonly wanted?: string;
  /** uid of the object; an object recreated by others has another one. */
  readonly uid?: string;
  /** Hash of our fields as stored by the server (fingerprint.ts). */
  readonly hash?: string;
  /** The fields that we wrote last, without values (written.ts). Absent in inventories of older agents. */
  readonly written?: string;
  /** True for an object with secrets: `wanted` and `hash` are keyed hashes. */
  readonly secret?: true;
  /** True if an autoscaler set its replicas when it was applied: they were left out, and are looked at each time. */
  readonly autoscaled?: true;
  /** True if it existed before without an owner: it stays when the package is removed. */
  readonly adopted?: true;
  /** Field managers of what deployed an adopted object before us: what they left beside the package's fields is reported. */
  readonly before?: readonly string[];
  /** For an adopted object: the copy that the removal restores. Absent in inventories of older agents. */
  readonly replaced?: { readonly digest: Digest };
  /**
   * True if it existed when this package was first applied, with our mark from another package or a lost state. If the first apply is
   * rolled back, the object stays. keepOwned drops this field once the package is kept.
   */
  readonly provisional?: true;
  /** Fields that kept the values of somebody else, because the server does not let them go back. Looked at each time. */
  readonly keeps?: readonly string[];
  /** The user that it is applied as; '': the agent's own account, for what the platform's templates brought into a tenant's package. */
  readonly by?: string;
  /** Present while its removal waits (StepResult). */
  readonly leaving?: object;
  /** Rank in the order of the package (ranks-of.ts); absent for 0. Removals go from the highest to the lowest. */
  readonly rank?: number;
  /** fleet-ferry/prune: disabled. */
  readonly keep?: true;
};

export const stateOf = ({ state }: OwnedObject): OwnedState => state as unknown as OwnedState;

export const asJson = (state: object): { readonly [key: string]: Json } =>
  Object.fromEntries<Json>(Object.entries(state).filter(([, value]) => value !== undefined));

/** The record of an object that was just applied. @param live as the server stored it */
export const appliedState = (
  desired: DesiredPackage,
  { hash, secret }: Pick<WantedObject, 'hash' | 'secret'>,
  live: LiveObject,
): Partial<OwnedState> =>
  defined({
    of: packageId(desired),
    wanted: hash,
    hash: fingerprint(live, secret),
    written: writtenOf(live),
    secret: secret ? true : undefined,
    uid: live.metadata.uid,
  });

/** Identity of a package's objects: files, site values and sealed secrets. */
export const packageId = (desired: DesiredPackage): string =>
  digestOf(
    JSON.stringify([
      desired.package,
      desired.siteInputs.map(({ file, pointer, value }) => [file, pointer, value]),
      ...(desired.secrets && desired.secrets.sealed.length > 0 ? [desired.secrets.sealed] : []),
    ]),
  ).slice('sha256:'.length, 'sha256:'.length + 32);
