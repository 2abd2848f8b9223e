import type { PlatformEdit, PlatformSave } from '#bundles/schemas/types/hub-decisions';

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

type EditProblem = {
  readonly code: string;
  readonly message: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly hint: string | null;
};

export type EditPreview = {
  readonly subject: string;
  readonly outcome: 'created' | 'configured' | 'unchanged';
  readonly files: readonly { readonly file: string; readonly text: string | null; readonly diff: string }[];
  /** With one of these nothing is saved. */
  readonly problems: readonly EditProblem[];
  /** Mistakes that the platform has without the edit, too. */
  readonly known: readonly EditProblem[];
  readonly advice: readonly EditProblem[];
  readonly assignments: readonly {
    readonly environment: string;
    readonly clusterType: string;
    readonly assignment: string;
    readonly outcome: 'created' | 'configured' | 'deleted' | 'held' | 'healed';
    readonly why: string | null;
  }[];
};

export type SavedAnswer = {
  readonly outcome: 'pushed' | 'proposed' | 'unchanged';
  readonly place: string;
  readonly files: readonly string[];
  readonly commit: string | null;
  readonly proposal: string | null;
  readonly pullRequest: string | null;
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
  readonly preview: (edit: PlatformEdit) => Promise<EditPreview>;
  /** @throws FleetError USAGE without a repository; the mistakes of the edit; as saveEdit and preview */
  readonly save: (edit: PlatformSave, person: string) => Promise<SavedAnswer>;
};
