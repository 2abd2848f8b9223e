import { isUtf8 } from 'node:buffer';
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { yamlFault } from '#bundles/json/yaml-fault';
import { withYamlNumbers } from '#bundles/json/yaml-numbers';
import { isTooDeep, MAX_DEPTH, nestsTooDeep } from './nesting.ts';

/** A YAML document with its root node, and the text that places are computed from. */
export type ParsedDocument<Root extends Node = YAMLMap> = {
  readonly root: Root;
  readonly document: Document;
  readonly text: SourceText;
};

const optionsFor = (lineCounter: LineCounter) => ({
  lineCounter,
  prettyErrors: false,
  customTags: withYamlNumbers,
  // The library's own check takes quadratic time.
  uniqueKeys: false,
});

/** A file's text and line starts. `file` is its name in messages. */
export type SourceText = { readonly file: string; readonly text: string; readonly lines: LineCounter };

/**
 * The documents of a YAML 1.2 file whose root is a mapping. Syntax errors, duplicate keys included, are added to `problems`
 * as YAML_SYNTAX, and the document is left out. For a document with another root `onOther` gives the error; without it the
 * document is skipped.
 */
export const parseDocuments = (
  file: string,
  content: Buffer | string,
  problems: FleetError[],
  onOther?: (at: Place) => FleetError,
): readonly ParsedDocument[] => {
  if (typeof content !== 'string' && !isUtf8(content)) {
    problems.push(
      new FleetError('YAML_SYNTAX', 'this is not YAML: it is not text in UTF-8', {
        at: { file },
        hint: 'Save it as UTF-8',
      }),
    );
    return [];
  }
  const lines = new LineCounter();
  const text = content.toString();
  const source = { file, text, lines };
  if (nestsTooDeep(text)) {
    problems.push(tooDeep(file));
    return [];
  }
  let documents: readonly Document[];
  try {
    const parsed = parseAllDocuments(text, optionsFor(lines));
    documents = Array.isArray(parsed) ? parsed : [];
  } catch (cause) {
    // The parser recurses with the text; only absurd nesting overflows its stack.
    problems.push(tooDeep(file, cause));
    return [];
  }
  const good: ParsedDocument[] = [];
  for (const document of documents) {
    const overflowed = document.errors.some(({ message }) => /call stack|Stack overflow/i.test(message));
    if (overflowed || isTooDeep(document.contents)) {
      problems.push(tooDeep(file));
      return [];
    }
    const tab = findTab(text, document.errors);
    if (tab !== undefined) {
      problems.push(indentedByTab(source, tab));
      return good;
    }
    for (const error of firstOfEachLine(source, document.errors).slice(0, MAX_REPORTED))
      problems.push(syntaxError(source, error.pos[0], error.message));
    if (document.errors.length > 0) continue;
    const { contents } = document;
    const twice = findDuplicateKeys(contents);
    for (const key of twice.slice(0, MAX_REPORTED)) problems.push(duplicateKey(source, key));
    const aliases = brokenAliases(source, document);
    for (const alias of aliases.slice(0, MAX_REPORTED)) problems.push(brokenAlias(source, alias));
    if (twice.length + aliases.length > 0) continue;
    if (isMap(contents)) good.push({ root: contents, document, text: source });
    else if (onOther && contents !== null && !(isScalar(contents) && contents.value === null))
      problems.push(onOther(placeOf(source, contents)));
  }
  return good;
};

/** Upper bound on reported errors of each sort in one file. */
const MAX_REPORTED = 20;

const tooDeep = (file: string, cause?: unknown): FleetError =>
  new FleetError('YAML_SYNTAX', `this YAML nests too deep to be read: more than ${MAX_DEPTH} levels`, {
    at: { file },
    cause,
  });

const duplicateKey = (source: SourceText, key: Scalar): FleetError =>
  new FleetError('YAML_SYNTAX', `the key ${String(key.value)} is there twice in one mapping`, {
    at: placeOf(source, key),
    hint: 'Remove one of the two',
  });

const syntaxError = (source: SourceText, offset: number, said: string): FleetError =>
  new FleetError('YAML_SYNTAX', `this is not YAML: ${yamlFault(said)}`, { at: placeAt(source, offset) });

const indentedByTab = (source: SourceText, offset: number): FleetError =>
  new FleetError('YAML_SYNTAX', 'this is not YAML: the line is indented with a tab', {
    at: placeAt(source, offset),
    hint: 'Indent with spaces: YAML takes no tabs there',
  });

/**
 * The place of the first tab that indents a line with an error. What else the parser reports, also before it and in later documents, mostly
 * follows from tabs.
 */
const findTab = (text: string, errors: readonly YAMLError[]): number | undefined => {
  const tabs = errors.flatMap(({ code, pos: [at] }) => {
    const start = text.lastIndexOf('\n', at - 1) + 1;
    const indent = /^[ \t]*/.exec(text.slice(start, start + MAX_INDENT))?.[0] ?? '';
    if (indent.includes('\t')) return [start + indent.indexOf('\t')];
    return code === 'TAB_AS_INDENT' ? [at] : [];
  });
  return tabs.length === 0 ? undefined : Math.min(...tabs);
};

/** Upper bound on the characters of a line that are looked at. */
const MAX_INDENT = 1000;

const brokenAlias = (source: SourceText, alias: Alias): FleetError =>
  new FleetError('YAML_SYNTAX', 'this alias has no anchor before it', {
    at: placeOf(source, alias),
    hint: 'A value that begins with * stands in quotes',
  });

/** Aliases without an anchor before them. The library would only find them on writing, and throw. */
const brokenAliases = ({ text }: SourceText, document: Document): readonly Alias[] => {
  const found: Alias[] = [];
  if (!text.includes('*')) return found;
  const anchors = new Set<string>();
  visit(document, {
    Alias: (_, alias) => {
      if (!anchors.has(alias.source)) found.push(alias);
    },
    Node: (_, node) => {
      if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
    },
  });
  return found;
};

/** One stray tab or quote makes the parser report the rest of the line as well. */
const firstOfEachLine = (source: SourceText, errors: readonly YAMLError[]): readonly YAMLError[] =>
  [
    ...new Map(errors.toReversed().map((error) => [source.lines.linePos(error.pos[0]).line, error])).values(),
  ].toReversed();

export const placeAt = (source: SourceText, offset: number): Place => {
  const { line, col } = source.lines.linePos(offset);
  return { file: source.file, line, column: col };
};

/** Where a node begins. A null without text has no place; then the owner's is used. */
export const placeOf = (source: SourceText, node: Node | null | undefined, owner?: Node): Place => {
  const range = node?.range ?? owner?.range;
  return range ? placeAt(source, range[0]) : { file: source.file };
};

/** Repeated keys of every mapping below a node, in time linear in the number of keys. */
const findDuplicateKeys = (node: unknown): readonly Scalar[] => {
  const found: Scalar[] = [];
  noteDuplicates(node, found);
  return found;
};

const noteDuplicates = (node: unknown, found: Scalar[]): void => {
  if (isSeq(node)) for (const item of node.items) noteDuplicates(item, found);
  if (!isMap(node)) return;
  const seen = new Set<unknown>();
  for (const { key, value } of node.items) {
    if (isScalar(key)) {
      if (seen.has(key.value)) found.push(key);
      seen.add(key.value);
    }
    noteDuplicates(value, found);
  }
};
