import { type Document, isMap, isNode, isScalar, LineCounter, type Node, parseDocument } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
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
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const invalid = (message: string, offset: number): FleetError => {
    const { line, col: column } = lines.linePos(offset);
    return new FleetError('CONFIG_INVALID', message, { at: { file, line, column } satisfies Place });
  };
  const [broken] = document.errors;
  if (broken) throw invalid(`this is not YAML: ${yamlFault(broken.message)}`, broken.pos[0]);
  const value = valueOf(document, (why) => invalid(`this is not YAML: ${why}`, 0));
  const mistake = checkFor(schema)(value);
  if (!mistake) return value as Documents[Name];
  throw invalid(describe(mistake), nodeOf(document, mistake)?.range?.[0] ?? 0);
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
  const foreign = params.additionalProperty;
  if (foreign !== undefined && isMap(document.contents)) {
    const pair = document.contents.items.find(({ key }) => isScalar(key) && key.value === foreign);
    return isNode(pair?.key) ? pair.key : undefined;
  }
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const node = document.getIn(path, true);
  return isNode(node) ? node : (document.contents ?? undefined);
};
