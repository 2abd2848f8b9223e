import type { Json } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import type { OwnedObject } from '../../model/target.ts';
import type { Entry } from './live/read-entry.ts';

/** What stood at a path before a package took it: put back when the package goes. A file's bytes are in `backups`. */
export type Replaced =
  | {
      readonly type: 'file';
      readonly digest: Digest;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  | { readonly type: 'link'; readonly target: string; readonly uid: number; readonly gid: number };

/**
 * What stood there before is what the package brings: the agent wrote it before its state was lost. It comes back only where the first
 * apply is taken back; once the package is kept, keepOwned drops this and the thing goes with the package.
 */
type Provisional<Before> = { readonly provisional?: { readonly replaced: Before } };

export type OwnedFile = Provisional<Replaced> & {
  readonly digest: Digest;
  /** Content of ours that may still be there if the plan that wrote this state did not get far. */
  readonly previous: readonly Digest[];
  /** Bytes of the largest of these contents. Inventories of older agents do not say. */
  readonly largest?: number;
  /** null: what was there could not be copied, and belonged to somebody who could have put anything there. */
  readonly replaced?: Replaced | null;
};

export type OwnedDirectory = {
  /** Listed in the package; else only a parent of what is, which other packages may use and describe as well. */
  readonly described: boolean;
  /** Made by us, so ours to remove when empty. */
  readonly created: boolean;
  readonly replaced?: { readonly mode: number; readonly uid: number; readonly gid: number };
};

type UnitBefore = { readonly enabled: boolean; readonly active: boolean };

export type OwnedUnit = Provisional<UnitBefore> & {
  /** Place in the package's list: removal goes backwards. */
  readonly order: number;
  readonly watches: readonly string[];
  /** Of a unit of the host's own: drop-ins that were there before the package. Inventories of older agents do not say. */
  readonly dropIns?: readonly string[];
  /** The unit was there before us and goes back to this. */
  readonly replaced?: UnitBefore;
};

/** An inventory by path or unit name. The states are our own, written by this target: taken as they are. */
export type Owned = {
  /** Paths of files made of secrets: nothing is remembered of what is in them. */
  readonly secrets: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, OwnedFile>;
  readonly directories: ReadonlyMap<string, OwnedDirectory>;
  readonly units: ReadonlyMap<string, OwnedUnit>;
};

export const fileKey = (path: string): string => `file:${path}`;
export const secretKey = (path: string): string => `secret:${path}`;
export const directoryKey = (path: string): string => `directory:${path}`;
/** Not 'directory:': making /opt for one's file must not keep another package from describing /opt. */
export const parentKey = (path: string): string => `parent:${path}`;
export const keyOfDirectory = (path: string, { described }: OwnedDirectory): string =>
  described ? directoryKey(path) : parentKey(path);
export const unitKey = (name: string): string => `unit:${name}`;

export const readOwned = (objects: readonly OwnedObject[]): Owned => {
  const of = <State>(prefix: string): ReadonlyMap<string, State> =>
    new Map(
      objects
        .filter((object) => object.key.startsWith(prefix))
        .map(({ key, state }) => {
          const provisional = state['provisional'] as object | undefined;
          return [key.slice(prefix.length), { ...provisional, ...state } as unknown as State];
        }),
    );
  const directories = new Map([...of<OwnedDirectory>('parent:'), ...of<OwnedDirectory>('directory:')]);
  return { secrets: new Set(of('secret:').keys()), files: of('file:'), directories, units: of('unit:') };
};

/** A state, detail or other record of ours as plain JSON: fields that are undefined are left out. */
export const asJson = (state: object): { readonly [key: string]: Json } =>
  Object.fromEntries<Json>(Object.entries(state).filter(([, value]) => value !== undefined));

/** Records a live entry so that a removal can restore it. Returns undefined for a missing entry, a directory or a file that was not read. */
export const snapshot = (
  live: Entry,
  digest = live.type === 'file' ? live.digest : null,
): Replaced | undefined => {
  if (live.type === 'file' && digest !== null) {
    const { type, mode, uid, gid } = live;
    return { type, digest, mode, uid, gid };
  }
  if (live.type !== 'link') return undefined;
  const { type, target, uid, gid } = live;
  return { type, target, uid, gid };
};
