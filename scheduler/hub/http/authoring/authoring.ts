import type {
  Platform,
  PlatformEdit,
  PlatformObject,
  PlatformPreview,
  PlatformSave,
  PlatformSaved,
} from '#bundles/schemas/types/hub-decisions';
import type { OpenValues, ValuesWriter } from '../../promote/values/decide-in-repository.ts';

/** Edits of the platform for the page. It reads and writes the repository with the hub's own rights; the routes judge the caller's. */
export type Authoring = {
  /** @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING, PLATFORM_INVALID */
  readonly describePlatform: () => Promise<Platform>;
  /** @throws FleetError REFERENCE_MISSING without such an object; as describePlatform */
  readonly readObject: (wanted: {
    readonly layer: string;
    readonly kind: string;
    readonly name: string;
  }) => Promise<PlatformObject>;
  /** @throws FleetError EDIT_CONFLICT, NAME_CLASH, NAME_INVALID, FIELD_INVALID; BUSY while many others are judged */
  readonly preview: (edit: PlatformEdit) => Promise<PlatformPreview>;
  /** @throws FleetError USAGE without a repository; the mistakes of the edit; as saveEdit and preview */
  readonly save: (edit: PlatformSave, person: string) => Promise<PlatformSaved>;
  /** Values of sites as Configs. @throws FleetError USAGE without a repository; the mistakes of the edit; as saveEdit */
  readonly saveValues: ValuesWriter;
  /** undefined if repository or forge cannot be read: forms are shown in any case. */
  readonly openValues: OpenValues;
  /** The address of the pull request of a proposal, if it was closed without being merged. @throws FleetError SOURCE_UNREACHABLE, FORGE_REFUSED, FORGE_UNREACHABLE */
  readonly declined: (proposal: string) => Promise<string | undefined>;
};
