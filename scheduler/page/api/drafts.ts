import type { Json } from '#bundles/json-value';
import { keepTyped, readTyped } from './typed.ts';

/** Edits of a form, kept while this tab is open: also when the session ends in between. */
export type Edit = {
  /** The value of this place when the edit began; null: it had none. */
  readonly was: unknown;
  /** Absent: nothing is typed yet, or the field was emptied. */
  readonly value?: unknown;
  /** The place is to have no value of its own. */
  readonly removed?: boolean;
};

export type Draft = {
  /** Version of the site that the edits began from. */
  readonly version: number;
  readonly edits: Readonly<Record<string, Edit>>;
  readonly reason: string;
};

/** The edits after some of them changed; undefined drops one. */
export const withEdits = (
  edits: Draft['edits'],
  changed: Readonly<Record<string, Edit | undefined>>,
): Draft['edits'] =>
  Object.fromEntries(
    Object.entries({ ...edits, ...changed }).flatMap(([name, one]) => (one ? [[name, one] as const] : [])),
  );

/** For `withEdits`: drops every edit. */
export const withoutEdits = (edits: Draft['edits']): Readonly<Record<string, undefined>> =>
  Object.fromEntries(Object.keys(edits).map((name) => [name, undefined]));

/** An edit of a value by its field; undefined: the field is empty. */
export const editOf = (was: unknown, value: unknown): Edit =>
  value === undefined ? { was } : { was, value };

/** Edits as the hub takes them. */
export const changesOf = (
  edits: Draft['edits'],
): { readonly set: Readonly<Record<string, Json>>; readonly unset: readonly string[] } => ({
  set: Object.fromEntries(
    Object.entries(edits).flatMap(([name, one]) => (one.removed === true ? [] : [[name, one.value as Json]])),
  ),
  unset: Object.entries(edits).flatMap(([name, one]) => (one.removed === true ? [name] : [])),
});

/** @param place person, site and agent */
export const readDraft = (place: readonly (string | null)[]): Draft | undefined => {
  const text = readTyped(['values', ...place]);
  return text === null ? undefined : (JSON.parse(text) as Draft);
};

/** @param secrets names whose text is not kept */
export const keepDraft = (
  place: readonly (string | null)[],
  { edits, ...draft }: Draft,
  secrets: ReadonlySet<string>,
): void => {
  const kept = Object.entries(edits).filter(([name]) => !secrets.has(name));
  const isEmpty = kept.length === 0 && draft.reason === '';
  keepTyped(
    ['values', ...place],
    isEmpty ? undefined : JSON.stringify({ ...draft, edits: Object.fromEntries(kept) }),
  );
};
