import type {
  PlatformEdit,
  PlatformPreview,
  PlatformSave,
  PlatformSaved,
} from '#bundles/schemas/types/hub-decisions';

/** One folder or branch in which objects of the platform are written. */
export type AuthoredLayer = {
  readonly name: string;
  /** The environment whose own it is; null: environments share it. */
  readonly environment: string | null;
  readonly promotedFrom: string | null;
  /** Repository and branch, without credentials; a folder of the hub's machine is null. */
  readonly place: string | null;
  readonly objects: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly file: string;
    readonly line: number | null;
  }[];
};

export type AuthoredPlatform = {
  readonly form: 'fleet' | 'kalypso';
  /** Whether edits can be saved: the platform is in a repository. */
  readonly canSave: boolean;
  /** How to connect a repository; null where there is one. */
  readonly advice: string | null;
  /** Whether a pull request is opened for a proposal, and not only its branch pushed. */
  readonly opensPullRequests: boolean;
  readonly layers: readonly AuthoredLayer[];
};

/** A file, and one object in it. */
export type AuthoredFile = {
  readonly layer: string;
  readonly file: string;
  /** Null if it holds secrets, and so is not shown. */
  readonly text: string | null;
  readonly value: unknown;
  /** SHA-256 of the file, which an edit names as the one that it was made from. */
  readonly seen: string;
};

/** Edits of the platform for the page. It reads and writes the repository with the hub's own rights; the routes judge the caller's. */
export type Authoring = {
  /** @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING, PLATFORM_INVALID */
  readonly describePlatform: () => Promise<AuthoredPlatform>;
  /** @throws FleetError REFERENCE_MISSING without such an object; as describePlatform */
  readonly readObject: (wanted: {
    readonly layer: string;
    readonly kind: string;
    readonly name: string;
  }) => Promise<AuthoredFile>;
  /** @throws FleetError EDIT_CONFLICT, NAME_CLASH, NAME_INVALID, FIELD_INVALID; BUSY while many others are judged */
  readonly preview: (edit: PlatformEdit) => Promise<PlatformPreview>;
  /** @throws FleetError USAGE without a repository; the mistakes of the edit; as saveEdit and preview */
  readonly save: (edit: PlatformSave, person: string) => Promise<PlatformSaved>;
};
