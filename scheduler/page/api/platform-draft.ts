import type { PlatformObject } from '#bundles/schemas/types/hub-decisions';
import { keepTyped, readTyped } from './typed.ts';

/** An edit of an object of the platform that is not saved. */
export type PlatformDraft = {
  /** State of the file that the edit began from; null: the object is new. */
  readonly seen: PlatformObject['seen'] | null;
  readonly asText: boolean;
  readonly data: unknown;
  readonly text: string;
  readonly reason: string;
};

/** Kind, layer and name of the object; of a new one the kind alone. */
export type EditedObject = readonly (string | null)[];

/** The edit that was typed for the object and not saved, kept while this tab is open: also when the session ends in between. */
export const readPlatformDraft = (object: EditedObject): PlatformDraft | undefined => {
  const text = readTyped(['platform', ...object]);
  return text === null ? undefined : (JSON.parse(text) as PlatformDraft);
};

/** @param draft undefined: it was saved, or is discarded */
export const keepPlatformDraft = (object: EditedObject, draft: PlatformDraft | undefined): void =>
  keepTyped(['platform', ...object], draft && JSON.stringify(draft));
