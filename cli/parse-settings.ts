import { type Document, isMap, isNode, isScalar, LineCounter, type Node, parseDocument } from 'yaml';
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
  const { document, value, invalid } = readYaml(file, text);
  const mistake = checkFor(schema)(value);
  if (!mistake) return value as Documents[Name];
  throw invalid(describe(mistake), nodeOf(document, mistake)?.range?.[0] ?? 0);
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
  const { document, value, invalid } = readYaml(file, text);
  const check = checkFor(schema);
  const parts = isRecord(value) ? Object.entries(value).map((entry) => Object.fromEntries([entry])) : [value];
  return parts.flatMap((part) => {
    const mistake = check(part);
    return mistake ? [invalid(describe(mistake), nodeOf(document, mistake)?.range?.[0] ?? 0)] : [];
  });
};

/** Where a file has the setting at `path`, or the nearest one above it. */
export const settingPlace = (file: string, text: string, path: readonly (string | number)[]): Place => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  for (let length = path.length; length > 0; length -= 1) {
    const node = keyOrItem(document, path.slice(0, length));
    if (!isNode(node) || !node.range) continue;
    const { line, col: column } = lines.linePos(node.range[0]);
    return { file, line, column };
  }
  return { file };
};

/** The key of a setting in a mapping, or an item of a list. */
const keyOrItem = (document: Document, path: readonly (string | number)[]): unknown => {
  const name = path.at(-1);
  const above = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(above)) return document.getIn(path, true);
  return above.items.find(({ key }) => isScalar(key) && key.value === name)?.key;
};

type ReadYaml = {
  readonly document: Document;
  readonly value: unknown;
  readonly invalid: (message: string, offset: number) => FleetError;
};

const readYaml = (file: string, text: string): ReadYaml => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const invalid = (message: string, offset: number): FleetError => {
    const { line, col: column } = lines.linePos(offset);
    return new FleetError('CONFIG_INVALID', message, { at: { file, line, column } satisfies Place });
  };
  const [broken] = document.errors;
  if (broken) throw invalid(`this is not YAML: ${yamlFault(broken.message)}`, broken.pos[0]);
  return { document, invalid, value: valueOf(document, (why) => invalid(`this is not YAML: ${why}`, 0)) };
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
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  const foreign = params.additionalProperty;
  if (foreign !== undefined && isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && key.value === foreign);
    return isNode(pair?.key) ? pair.key : undefined;
  }
  return isNode(node) ? node : (document.contents ?? undefined);
};
