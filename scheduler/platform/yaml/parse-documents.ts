import { isUtf8 } from 'node:buffer';
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  type ScalarTag,
  type Tags,
  type YAMLError,
  type YAMLMap,
  visit,
} from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { yamlFault } from '#bundles/yaml-fault';
import { readCommonYaml } from './common/read-common-yaml.ts';
import { findDuplicateKeys } from './duplicate-keys.ts';
import { MAX_DEPTH, nestsTooDeep } from './nesting.ts';

/** A YAML document with a mapping at its root, and what is needed to say where something in it stands. */
export type ParsedDocument<Root extends Node = YAMLMap> = {
  readonly root: Root;
  readonly document: Document;
  readonly text: SourceText;
};

/**
 * A number is written out as its author wrote it: `0644` means 420 to kubectl and 644 to YAML 1.2, and which of the two it is
 * whoever reads the bundle decides, not we.
 */
const numbersAsWritten = (tags: Tags): Tags =>
  tags.map((tag) => (typeof tag !== 'string' && NUMBERS.has(tag.tag) ? asWritten(tag as ScalarTag) : tag));

const NUMBERS = new Set(['tag:yaml.org,2002:int', 'tag:yaml.org,2002:float']);

const asWritten = (tag: ScalarTag): ScalarTag => ({
  ...tag,
  stringify: (item, ...more) => item.source ?? tag.stringify?.(item, ...more) ?? String(item.value),
});

/** How both readers read: the library, and ours of what is common. */
export const optionsFor = (lineCounter: LineCounter) => ({
  lineCounter,
  // So that a number too long for a double is seen and not rounded.
  intAsBigInt: true,
  prettyErrors: false,
  customTags: numbersAsWritten,
  // Its own check takes time with the square of the keys.
  uniqueKeys: false,
});

/** A file's text with its line ends counted. `file` is the name messages use. */
export type SourceText = { readonly file: string; readonly text: string; readonly lines: LineCounter };

/**
 * All documents of a YAML 1.2 file that hold a mapping; mistakes in the syntax (duplicate keys are one) go to
 * `problems`, and a document that has one is left out. `onOther` is asked about a document that holds something else;
 * without it such a one is passed over.
 */
export const parseDocuments = (
  file: string,
  bytes: Buffer,
  problems: FleetError[],
  onOther?: (at: Place) => FleetError,
): readonly ParsedDocument[] => {
  if (!isUtf8(bytes)) {
    problems.push(
      new FleetError('YAML_SYNTAX', 'this is not YAML: it is not text in UTF-8', {
        at: { file },
        hint: 'Save it as UTF-8',
      }),
    );
    return [];
  }
  const lines = new LineCounter();
  const text = bytes.toString('utf8');
  const source = { file, text, lines };
  if (nestsTooDeep(text)) {
    problems.push(tooDeep(file));
    return [];
  }
  let documents: readonly Document[];
  try {
    const options = optionsFor(lines);
    const parsed = readCommonYaml(text, options) ?? parseAllDocuments(text, options);
    documents = Array.isArray(parsed) ? parsed : [];
  } catch (cause) {
    // The parser recurses with the text: only absurd nesting gets here.
    problems.push(tooDeep(file, cause));
    return [];
  }
  const good: ParsedDocument[] = [];
  for (const document of documents) {
    if (document.errors.some(({ message }) => /call stack|Stack overflow/i.test(message))) {
      problems.push(tooDeep(file));
      return [];
    }
    for (const error of firstOfEachLine(source, document.errors).slice(0, MAX_TOLD))
      problems.push(syntaxError(source, error.pos[0], error.message));
    if (document.errors.length > 0) continue;
    const { contents } = document;
    const twice = findDuplicateKeys(contents);
    for (const key of twice.slice(0, MAX_TOLD)) problems.push(duplicateKey(source, key));
    const aliases = brokenAliases(source, document);
    for (const alias of aliases.slice(0, MAX_TOLD)) problems.push(brokenAlias(source, alias));
    if (twice.length + aliases.length > 0) continue;
    if (isMap(contents)) good.push({ root: contents, document, text: source });
    else if (onOther && contents !== null && !(isScalar(contents) && contents.value === null))
      problems.push(onOther(placeOf(source, contents)));
  }
  return good;
};

/** Nobody reads more of one file at once. */
const MAX_TOLD = 20;

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

const brokenAlias = (source: SourceText, alias: Alias): FleetError =>
  new FleetError('YAML_SYNTAX', 'this alias has no anchor before it', {
    at: placeOf(source, alias),
    hint: 'A value that begins with * stands in quotes',
  });

/** Aliases without an anchor before them. The library finds them when it writes the document, and throws. */
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

/** One tab or quote too many makes the parser complain of the rest of the line as well. */
const firstOfEachLine = (source: SourceText, errors: readonly YAMLError[]): readonly YAMLError[] =>
  [
    ...new Map(errors.toReversed().map((error) => [source.lines.linePos(error.pos[0]).line, error])).values(),
  ].toReversed();

export const placeAt = (source: SourceText, offset: number): Place => {
  const { line, col } = source.lines.linePos(offset);
  return { file: source.file, line, column: col };
};

/** Where a node begins. A null without text has no place of its own: then its owner's is used. */
export const placeOf = (source: SourceText, node: Node | null | undefined, owner?: Node): Place => {
  const range = node?.range ?? owner?.range;
  return range ? placeAt(source, range[0]) : { file: source.file };
};
