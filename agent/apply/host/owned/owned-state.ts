import type { Json } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import type { OwnedObject } from '../../../model/target.ts';
import type { Entry } from '../live/read-entry.ts';
import type { KeptMode } from './kept-mode.ts';

/** The entry at a path before a package replaced it; the removal of the package restores it. A file's bytes are in `backups`. */
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
 * The entry before the package equals the package's: the agent wrote it before its state was lost. It is restored only if the first
 * apply is rolled back. Once the package is kept, keepOwned drops this field, and the entry is removed with the package.
 */
type Provisional<Before> = { readonly provisional?: { readonly replaced: Before } };

export type OwnedFile = Provisional<Replaced> & {
  readonly digest: Digest;
  /** Digests of earlier content of ours that may still be there if the plan was interrupted. */
  readonly previous: readonly Digest[];
  /** Size in bytes of the largest of these contents. Absent in inventories of older agents. */
  readonly largest?: number;
  /** null: the previous entry could not be copied, and another user may have placed it there. */
  readonly replaced?: Replaced | null;
  readonly kept?: KeptMode;
  /** The path as the package wrote it, where it is another name: systemd knows a unit file by its name. */
  readonly named?: string;
  /** Its recorded path leads to another place today (current-keys.ts); never stored. */
  readonly moved?: true;
};

export type OwnedDirectory = {
  /** True if the package lists it; false for a parent of a listed path, which other packages may use and list as well. */
  readonly described: boolean;
  /** True if we created it; then it is removed when empty. */
  readonly created: boolean;
  readonly replaced?: { readonly mode: number; readonly uid: number; readonly gid: number };
  readonly kept?: KeptMode;
};

type UnitBefore = { readonly enabled: boolean; readonly active: boolean };

export type OwnedUnit = Provisional<UnitBefore> & {
  /** Index in the package's list; removal runs in reverse order. */
  readonly order: number;
  readonly watches: readonly string[];
  /** For a unit of the host: drop-ins and other files from before the package that change or replace it. Absent in old inventories. */
  readonly dropIns?: readonly string[];
  /** True if `dropIns` has every kind; older agents recorded drop-ins of the unit's own name below /etc and /run. */
  readonly everyKind?: true;
  /** Path of the quadlet that Podman's generator makes it of. */
  readonly quadlet?: string;
  /** The state of a unit that existed before the package; restored when the package is removed. */
  readonly replaced?: UnitBefore;
};

export type OwnedDeb = {
  /**
   * Until the first apply is kept. `purge`: its rollback takes the package away without a trace. `adopted`: the agent installed the
   * package before its state was lost, so the rollback leaves it.
   */
  readonly provisional?: { readonly purge: true } | { readonly adopted: string };
  readonly version: string;
  readonly hold: boolean;
  /** Its removal purges it. */
  readonly purge?: true;
  /** The version that the administrator of the host had installed; then the package stays when ours leaves. */
  readonly adopted?: string;
  /** The administrator had the adopted package on hold, where it goes back when ours leaves. */
  readonly adoptedHold?: true;
};

/** The system of the host. */
export type OwnedRauc = {
  /** Of the RAUC bundle. */
  readonly version: string;
  readonly digest: Digest;
  /** Until the package is kept: the slot that the host ran before, where the way back leads. */
  readonly provisional?: { readonly back: string };
};

/** An inventory by path or unit name. This target wrote the states, so they are trusted. */
export type Owned = {
  /** Paths of files made of secrets. Nothing is stored about their content. */
  readonly secrets: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, OwnedFile>;
  readonly directories: ReadonlyMap<string, OwnedDirectory>;
  readonly units: ReadonlyMap<string, OwnedUnit>;
  /** By name of the Debian package. */
  readonly debs: ReadonlyMap<string, OwnedDeb>;
  /** Names of images in Podman's storage, 'host/repo@sha256:...'. */
  readonly images: ReadonlySet<string>;
  readonly rauc?: OwnedRauc | undefined;
};

export const fileKey = (path: string): string => `file:${path}`;
export const secretKey = (path: string): string => `secret:${path}`;
export const directoryKey = (path: string): string => `directory:${path}`;
/** Claims of a package, without parent directories: creating /opt for a file must not prevent another package from listing /opt. */
export const parentKey = (path: string): string => `parent:${path}`;
export const keyOfDirectory = (path: string, { described }: OwnedDirectory): string =>
  described ? directoryKey(path) : parentKey(path);
export const unitKey = (name: string): string => `unit:${name}`;
export const debKey = (name: string): string => `deb:${name}`;
/** A host boots one system, so that one package has it. */
export const RAUC_KEY = 'rauc:system';
export const imageKey = (name: string): string => `image:${name}`;

/** @param names keys of paths that lead elsewhere today -> today's keys */
export const readOwned = (
  objects: readonly OwnedObject[],
  names: ReadonlyMap<string, string> = new Map(),
): Owned => {
  const recorded = new Set(objects.map(({ key }) => key));
  const today = objects
    // An object may be recorded under its old and its current key; the record under the current key is the newer one.
    .filter(({ key }) => !recorded.has(names.get(key) ?? ''))
    .map(({ key, state }) => {
      const name = names.get(key);
      if (name === undefined) return { key, state };
      return { key: name, state: name.startsWith('file:') ? { ...state, moved: true } : state };
    });
  const of = <State>(prefix: string): ReadonlyMap<string, State> =>
    new Map(
      today
        .filter((object) => object.key.startsWith(prefix))
        .map(({ key, state }) => {
          const provisional = state['provisional'] as object | undefined;
          return [key.slice(prefix.length), { ...provisional, ...state } as unknown as State];
        }),
    );
  const directories = new Map([...of<OwnedDirectory>('parent:'), ...of<OwnedDirectory>('directory:')]);
  return {
    secrets: new Set(of('secret:').keys()),
    files: of('file:'),
    directories,
    units: of('unit:'),
    debs: of('deb:'),
    images: new Set(of('image:').keys()),
    rauc: of<OwnedRauc>('rauc:').get('system'),
  };
};

/** Converts a record of ours to plain JSON, without undefined fields. */
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
