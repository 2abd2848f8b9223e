import {
  type Document,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { yamlFault } from '#bundles/json/yaml-fault';
import { checkFor, type Mistake } from '#bundles/json/schema/check-for';
import type { PublishedDocument } from '#bundles/json/schema/published-document';
import type { SchemaName } from '#bundles/json/schema/schema-names';
import type { Documents } from '#bundles/schemas/documents';

/** Upper bound on aliases in one file; nested aliases grow exponentially. */
const MAX_ALIASES = 100;

/**
 * Parses a configuration file: YAML that fits the schema. An empty file has no settings.
 * @param describe message for a value that does not fit
 * @throws FleetError CONFIG_INVALID with file:line:column
 */
export const parseSettings = <Name extends SchemaName>(
  schema: PublishedDocument<Name>,
  file: string,
  text: string,
  describe: (mistake: Mistake) => string,
): Documents[Name] => {
  const { value, errorOf } = readYaml(file, text, describe);
  const mistake = checkFor(schema)(value);
  if (!mistake) return value as Documents[Name];
  throw errorOf(mistake);
};

/**
 * The first mistake of each setting of a file, where `parseSettings` throws the first of all.
 * @throws FleetError CONFIG_INVALID for what is not YAML
 */
export const settingMistakes = <Name extends SchemaName>(
  schema: PublishedDocument<Name>,
  file: string,
  text: string,
  describe: (mistake: Mistake) => string,
): readonly FleetError[] => {
  const { value, errorOf } = readYaml(file, text, describe);
  const check = checkFor(schema);
  const parts = isRecord(value) ? Object.entries(value).map((entry) => Object.fromEntries([entry])) : [value];
  return parts.flatMap((part) => {
    const mistake = check(part);
    return mistake ? [errorOf(mistake)] : [];
  });
};

/** Where a file has the setting at `path`, or the nearest one above it. */
export const settingPlace = (file: string, text: string, path: readonly (string | number)[]): Place => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  for (let length = path.length; length > 0; length -= 1) {
    const node = keyOrItem(document, path.slice(0, length));
    if (isNode(node) && node.range) return placeAt(file, lines, node.range[0]);
  }
  return { file };
};

/** The key of a setting in a mapping, or an item of a list. */
const keyOrItem = (document: Document, path: readonly (string | number)[]): unknown => {
  const above = nodeAt(document, path.slice(0, -1));
  return isMap(above) ? keyIn(above, path.at(-1)) : nodeAt(document, path);
};

/** The value at a path; the whole content at an empty one, which `getIn` does not take. */
const nodeAt = (document: Document, path: readonly (string | number)[]): unknown =>
  path.length === 0 ? document.contents : document.getIn(path, true);

const keyIn = ({ items }: YAMLMap, name: string | number | undefined): unknown =>
  items.find(({ key }) => isScalar(key) && key.value === name)?.key;

const placeAt = (file: string, lines: LineCounter, offset: number): Place => {
  const { line, col: column } = lines.linePos(offset);
  return { file, line, column };
};

type ReadYaml = {
  readonly value: unknown;
  /** The error for a value that does not fit, at its place in the file. */
  readonly errorOf: (mistake: Mistake) => FleetError;
};

const readYaml = (file: string, text: string, describe: (mistake: Mistake) => string): ReadYaml => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const invalid = (message: string, offset: number): FleetError =>
    new FleetError('CONFIG_INVALID', message, { at: placeAt(file, lines, offset) });
  const [broken] = document.errors;
  if (broken) throw invalid(`this is not YAML: ${yamlFault(broken.message)}`, broken.pos[0]);
  return {
    value: valueOf(document, (why) => invalid(`this is not YAML: ${why}`, 0)),
    errorOf: (mistake) => invalid(describe(mistake), nodeOf(document, mistake)?.range?.[0] ?? 0),
  };
};

const valueOf = (document: Document, invalid: (why: string) => FleetError): unknown => {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {};
  } catch (error) {
    throw invalid(yamlFault((error as Error).message));
  }
};

/** The key of a foreign field, the value of any other mistake. */
const nodeOf = (document: Document, { params, instancePath }: Mistake): Node | undefined => {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const node = nodeAt(document, path);
  const foreign = params.additionalProperty;
  if (foreign !== undefined && isMap(node)) {
    const key = keyIn(node, foreign);
    return isNode(key) ? key : undefined;
  }
  return isNode(node) ? node : (document.contents ?? undefined);
};
