import { Document, type DocumentOptions, type ParseOptions, type SchemaOptions } from 'yaml';
import { type Cursor, HASH, isDocumentStart, NEWLINE } from './cursor.ts';
import { readMap } from './read-block.ts';
import { lineEnd } from './read-scalar.ts';

/**
 * The documents of a text that keeps to what nearly every file of a fleet is written in: mappings and lists in lines or as
 * JSON, texts that end where their line does, literal blocks, comments above keys and behind values. They are node for node
 * what the library makes of the text (the tests hold the two against each other), for a fraction of the time.
 * @returns undefined for all else, mistakes too: then the library has to read the text
 */
export const readCommonYaml = (
  text: string,
  options: ParseOptions & DocumentOptions & SchemaOptions,
): readonly Document.Parsed[] | undefined => {
  if (UNCOMMON.test(text)) return undefined;
  const documents: Document.Parsed[] = [];
  for (let at = 0; at < text.length; ) {
    const document = new Document(undefined, options) as unknown as Document.Parsed;
    const cursor: Cursor = { text, document, at, afterNothing: false };
    if (!readDocument(cursor, documents.length === 0)) return undefined;
    documents.push(document);
    at = cursor.at;
  }
  if (documents.length === 0) return undefined;
  countLines(text, options);
  return documents;
};

/** Tabs, carriage returns and all that a line may hold besides text. */
// oxlint-disable-next-line no-control-regex
const UNCOMMON = /[\u0000-\u0009\u000b-\u001f\u007f\ufeff]/;

const readDocument = (cursor: Cursor, first: boolean): boolean => {
  const { text, document } = cursor;
  const prelude = first ? readPrelude(cursor) : NO_PRELUDE;
  const offset = cursor.at;
  if (isDocumentStart(text, offset)) {
    document.directives.docStart = true;
    cursor.at += 4;
  } else if (!first) return false;
  const root = readMap(cursor, 0);
  if (!root) return false;
  document.contents = root;
  const end = root.range[2];
  const from = cursor.at;
  while (text.charCodeAt(cursor.at) === NEWLINE) cursor.at += 1;
  document.range = [offset, end, end + cursor.at - from];
  if (prelude.comment !== '') {
    if (prelude.afterEmptyLine || document.directives.docStart) document.commentBefore = prelude.comment;
    else (root.items[0] as (typeof root.items)[number]).key.commentBefore = prelude.comment;
  }
  return cursor.at === text.length || isDocumentStart(text, cursor.at);
};

type Prelude = { readonly comment: string; readonly afterEmptyLine: boolean };
const NO_PRELUDE: Prelude = { comment: '', afterEmptyLine: false };

/** Comments before all else. */
const readPrelude = (cursor: Cursor): Prelude => {
  const { text } = cursor;
  let comment = '';
  let afterEmptyLine = false;
  for (;;) {
    const code = text.charCodeAt(cursor.at);
    if (code === NEWLINE) afterEmptyLine = true;
    else if (code === HASH) {
      comment +=
        (comment === '' ? '' : afterEmptyLine ? '\n\n' : '\n') +
        (text.slice(cursor.at + 1, lineEnd(text, cursor.at)) || ' ');
      afterEmptyLine = false;
    } else return { comment, afterEmptyLine };
    cursor.at = lineEnd(text, cursor.at) + 1;
  }
};

const countLines = (text: string, { lineCounter }: ParseOptions): void => {
  lineCounter?.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1))
    lineCounter?.addNewLine(at + 1);
};
