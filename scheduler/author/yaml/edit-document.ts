import { isDeepStrictEqual } from 'node:util';
import { type Document, parseAllDocuments, type ToStringOptions } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import type { Json } from '#bundles/json/canonical';
import { keepLines } from './keep-lines.ts';

/** Which object of a file. */
export type ObjectName = { readonly kind: string; readonly name: string };

/** A change of one object of a file. */
export type ObjectChange = {
  readonly which: ObjectName;
  readonly change: (document: Document) => void;
  /** Of the file, for errors. */
  readonly at: Place;
};

/**
 * The text of a file after changes of its objects. Comments, the order of keys, quotes and all lines that a change is not about stay as they
 * are. @throws FleetError FIELD_INVALID if the file has no such document, or writes the object as an item of a List
 */
export const editObjects = (text: string, changes: readonly ObjectChange[]): string => {
  const present = byName(parse(text));
  for (const { which, at } of changes) {
    const found = present.get(keyOf(which));
    if (!found || found.errors.length > 0)
      throw new FleetError('FIELD_INVALID', `${which.kind} ${which.name} cannot be edited here`, {
        at,
        hint: 'Write it as a YAML document of its own, without mistakes in its syntax',
      });
  }
  return editDocuments(text, (documents) => {
    const known = byName(documents);
    for (const { which, change } of changes) change(known.get(keyOf(which)) as Document);
  });
};

const keyOf = ({ kind, name }: ObjectName): string => `${kind} ${name}`;

/** The first document of each object. */
const byName = (documents: readonly Document[]): ReadonlyMap<string, Document> => {
  const found = new Map<string, Document>();
  for (const one of documents) {
    const key = keyOf({ kind: String(one.get('kind')), name: String(one.getIn(['metadata', 'name'])) });
    if (!found.has(key)) found.set(key, one);
  }
  return found;
};

/** The text of a file after a change of its documents; all lines that the change is not about stay as they are. */
export const editDocuments = (text: string, change: (documents: readonly Document[]) => void): string => {
  const style = styleOf(text);
  const base = write(parse(text), style);
  const documents = parse(text);
  change(documents);
  const changed = write(documents, style);
  if (changed === base) return text;
  const kept = keepLines(text, base, changed);
  return saysTheSame(kept, changed) ? kept : changed;
};

/** The value of one object of a file; undefined if the file has no such document. */
export const readDocument = (text: string, which: ObjectName): Readonly<Record<string, Json>> | undefined =>
  findDocument(parse(text), which)?.toJS({ maxAliasCount: 100 });

/** Adds an object as the last document of a file. */
export const appendDocument = (text: string, object: string): string => {
  const trimmed = text
    .trimEnd()
    .replace(/\n(?:\.\.\.|---)$/, '')
    .trimEnd();
  return trimmed === '' ? object : `${trimmed}\n---\n${object}`;
};

const parse = (text: string): readonly Document[] => [
  ...(parseAllDocuments(text, { uniqueKeys: false, logLevel: 'silent' }) as unknown as Iterable<Document>),
];

const findDocument = (documents: readonly Document[], { kind, name }: ObjectName): Document | undefined =>
  documents.find((one) => one.get('kind') === kind && one.getIn(['metadata', 'name']) === name);

const write = (documents: readonly Document[], style: ToStringOptions): string =>
  documents.map((one) => one.toString({ ...style, directives: false })).join('---\n');

const saysTheSame = (text: string, other: string): boolean => {
  const [left, right] = [parse(text), parse(other)];
  return (
    left.every(({ errors }) => errors.length === 0) &&
    isDeepStrictEqual(
      left.map((one) => one.toJS({ maxAliasCount: 100 })),
      right.map((one) => one.toJS({ maxAliasCount: 100 })),
    )
  );
};

/** Forms of YAML that people write. */
const CHOICES: readonly ToStringOptions[] = [true, false].flatMap((indentSeq) =>
  [2, 4].flatMap((indent) =>
    [true, false].map((flowCollectionPadding) => ({
      indentSeq,
      indent,
      flowCollectionPadding,
      lineWidth: 0,
      doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
    })),
  ),
);

/** The form in which most lines of the text are written as they are. */
const styleOf = (text: string): ToStringOptions => {
  const lines = new Set(text.split('\n'));
  const scored = CHOICES.map((style) => ({
    style,
    foreign: write(parse(text), style)
      .split('\n')
      .filter((line) => !lines.has(line)).length,
  }));
  const best = Math.min(...scored.map(({ foreign }) => foreign));
  return (scored.find(({ foreign }) => foreign === best) as (typeof scored)[number]).style;
};
