import {
  type Document,
  LineCounter,
  parse,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  YAMLError,
} from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { yamlFault } from '#bundles/json/yaml-fault';
import { withYamlDoubles } from '#bundles/json/yaml-numbers';

/** Helm, Argo CD, Rancher Fleet and kubectl read these words as booleans. To Kustomize, and so to Flux, all but true and false are text. */
const BOOLEAN: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  identify: (value) => typeof value === 'boolean',
  test: /^(?:[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|false|False|FALSE)$/,
  resolve: (text) => /^(?:y|on|t)/i.test(text),
};

/** Options of the parser that read YAML as Kustomize does: `0644` is octal, and the last of equal keys counts. */
export const LIKE_KUSTOMIZE = {
  prettyErrors: false,
  logLevel: 'error',
  uniqueKeys: false,
  customTags: withYamlDoubles,
} as const;

/** The same as Helm, Argo CD and Rancher Fleet read their own files: `yes` and `off` are booleans. */
export const LIKE_HELM = {
  ...LIKE_KUSTOMIZE,
  customTags: (tags: Tags): Tags => [BOOLEAN, ...withYamlDoubles(tags)],
} as const;

/**
 * The value of a YAML text of the repository.
 * @param at the file, or the object that has the text in a field
 * @throws FleetError CONFIG_INVALID
 */
export const parseText = (text: string | Buffer, at: Place): unknown => {
  const lineCounter = new LineCounter();
  try {
    const value: unknown = parse(text.toString(), { ...LIKE_HELM, merge: true, lineCounter });
    if (isEndless(value)) throw new TypeError(ENDLESS);
    return value;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // The place of an object has a line of its own: its text begins somewhere below.
    const place =
      error instanceof YAMLError && at.line === undefined ? placeOf(error.pos[0], lineCounter, at.file) : at;
    throw new FleetError('CONFIG_INVALID', `its YAML has a mistake: ${yamlFault(error.message)}`, {
      at: place,
    });
  }
};

/** How many values the aliases of one document may repeat, those inside of them included. */
export const MAX_ALIASES = 1000;

/** A document and its value. */
export type ReadDocument = { readonly document: Document.Parsed; readonly value: unknown };

/** The documents of a text of the repository, as Kustomize reads them. One with a mistake is left out: a tool that builds it says so. */
export const parseTexts = (
  text: string,
  lineCounter = new LineCounter(),
  like: typeof LIKE_HELM | typeof LIKE_KUSTOMIZE = LIKE_KUSTOMIZE,
): readonly ReadDocument[] => {
  const documents = parseAllDocuments(text, { ...like, merge: true, lineCounter });
  return (Array.isArray(documents) ? documents : []).flatMap((document) => {
    if (document.errors.length > 0) return [];
    const read = readValue(document);
    return 'value' in read ? [{ document, value: read.value }] : [];
  });
};

/** @returns the value of a document without errors of syntax, or what is wrong with its aliases or merge keys */
export const readValue = (
  document: Document.Parsed,
): { readonly value: unknown } | { readonly fault: string } => {
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return isEndless(value) ? { fault: ENDLESS } : { value };
  } catch (error) {
    // The library has no class of its own for a merge key without a mapping.
    if (!(error instanceof Error)) throw error;
    return {
      fault: error instanceof ReferenceError ? 'its aliases repeat too much' : 'a merge key has no mapping',
    };
  }
};

const ENDLESS = 'an alias is inside of what it repeats';

const isEndless = (value: unknown): boolean => {
  try {
    JSON.stringify(value);
    return false;
  } catch {
    return true;
  }
};

export const placeOf = (offset: number, lineCounter: LineCounter, file: string): Place => {
  const { line, col } = lineCounter.linePos(offset);
  return { file, line, column: col };
};
