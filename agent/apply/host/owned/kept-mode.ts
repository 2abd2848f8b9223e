import { octal } from './octal.ts';

/** The mode `has` that a file system without modes of its own gives to an entry that was to get `asked`. */
export type KeptMode = { readonly asked: number; readonly has: number };

/** Undefined if the file system keeps the mode. */
export const keptMode = (asked: number, has: number): KeptMode | undefined =>
  asked === has ? undefined : { asked, has };

/** The recorded one if the entry is still as its file system made it for this mode. */
export const keptBy = (
  recorded: KeptMode | undefined,
  mode: number,
  live: { readonly type: string; readonly mode?: number },
): KeptMode | undefined =>
  recorded?.asked === mode && recorded.has === live.mode && recorded.has !== mode ? recorded : undefined;

/** For the reason of a step. */
export const describeKept = (kept: KeptMode | undefined): readonly string[] =>
  kept ? [`its file system gives it mode ${octal(kept.has)} instead of ${octal(kept.asked)}`] : [];
