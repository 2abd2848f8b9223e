import type { Json } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import type { DesiredPackage, OwnedObject } from '../../model/target.ts';

/** What the inventory remembers of an object: names and hashes, never content. */
export type OwnedState = {
  readonly apiVersion: string;
  /** Under whose name it was marked. */
  readonly assignment: string;
  /** Identity of the package that `wanted` and `hash` were true for. */
  readonly of?: string;
  /** Hash of the object as the package has it. */
  readonly wanted?: string;
  /** Which object it was: one that was deleted and made again by others is another. */
  readonly uid?: string;
  /** Hash of our fields as the server keeps them (fingerprint.ts). */
  readonly hash?: string;
  /** It has secrets: `wanted` and `hash` are keyed hashes. */
  readonly secret?: true;
  /** It was there before and belonged to nobody: it stays when the package goes. */
  readonly adopted?: true;
  /** Of an adopted object: the copy of what it was, which is put back then. Inventories of older agents have none. */
  readonly replaced?: { readonly digest: Digest };
  /**
   * It was there when this package was first applied, as another package's or ours from a state that was lost: should the
   * package be taken back, the object stays. Gone once the package is kept (keepOwned).
   */
  readonly provisional?: true;
  /** fleet-ferry/prune: disabled. */
  readonly keep?: true;
};

export const stateOf = ({ state }: OwnedObject): OwnedState => state as unknown as OwnedState;

export const asJson = (state: object): { readonly [key: string]: Json } =>
  Object.fromEntries<Json>(Object.entries(state).filter(([, value]) => value !== undefined));

/** What makes two packages want the same objects: files, and the site values and sealed secrets that go into them. */
export const packageId = (desired: DesiredPackage): string =>
  digestOf(
    JSON.stringify([
      desired.package,
      desired.siteInputs.map(({ file, pointer, value }) => [file, pointer, value]),
      ...(desired.secrets && desired.secrets.sealed.length > 0 ? [desired.secrets.sealed] : []),
    ]),
  ).slice('sha256:'.length, 'sha256:'.length + 32);
