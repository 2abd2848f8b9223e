import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';

/** The schema of the chart, and of subcharts that are folders in it. */
const VALUES_SCHEMA = /^(?:charts\/[^/]+\/)*values\.schema\.json$/;

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$schema']);

/** JSON Schema drafts that are built into Helm. */
const KNOWN_DRAFT = /^https?:\/\/json-schema\.org\/(?:draft-0[3-7]\/schema|draft\/20(?:19-09|20-12)\/)/;

/**
 * Refuses a chart whose values.schema.json refers to another document: Helm would load it from the network or the local
 * disk. @param shown prefix of paths in messages
 * @throws FleetError FIELD_INVALID
 */
export const checkValuesSchemas = (files: ReadonlyMap<string, Buffer>, shown: string): void => {
  for (const [path, bytes] of files) {
    if (!VALUES_SCHEMA.test(path)) continue;
    const found = findForeign(bytes);
    if (!found) continue;
    throw new FleetError(
      'FIELD_INVALID',
      `${found.keyword} refers to ${JSON.stringify(found.value)}, which is not in this schema`,
      {
        at: { file: `${shown}${path}` },
        hint: 'Copy that schema into $defs and refer to it as #/$defs/NAME: nothing is loaded while rendering',
      },
    );
  }
};

type Reference = { readonly keyword: string; readonly value: string };

const findForeign = (bytes: Buffer): Reference | undefined => {
  const schema = parsed(bytes);
  const own = new Set(['', ...ownIds(schema)]);
  const waiting: unknown[] = [schema];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== 'object' || one === null) continue;
    for (const [keyword, value] of Object.entries(one)) {
      if (!REFERENCES.has(keyword) || typeof value !== 'string') waiting.push(value);
      else if (!own.has(value.replace(/#.*$/s, '')) && !KNOWN_DRAFT.test(value)) return { keyword, value };
    }
  }
  return undefined;
};

/** An id that is the same from everywhere in the schema. A fragment would name a place in another document. */
const ABSOLUTE_ID = /^https?:\/\/[^#]+(?=#?$)/;

const OLD_DRAFT = /\/draft-0[3-7]\//;
const ID_WITHOUT_DOLLAR = /\/draft-0[34]\//;

/**
 * The ids of the schema and of those that are bundled in its definitions: a reference to one stays inside. Only those that Helm's library
 * takes for ids in this draft: to the others it would load the document. Draft 3 and 4 write `id`, drafts up to 7 know no `$defs`
 * and ignore an id beside a `$ref`.
 */
const ownIds = (schema: unknown): readonly string[] => {
  if (!isRecord(schema)) return [];
  const { $schema } = schema;
  const draft = typeof $schema === 'string' ? $schema : '';
  const keyword = ID_WITHOUT_DOLLAR.test(draft) ? 'id' : '$id';
  const places = OLD_DRAFT.test(draft) ? [schema['definitions']] : [schema['$defs'], schema['definitions']];
  const bundled = places.filter(isRecord).flatMap(Object.values).filter(isRecord);
  return [schema, ...bundled.filter((one) => !Object.hasOwn(one, '$schema'))]
    .filter((one) => !Object.hasOwn(one, '$ref'))
    .flatMap(({ [keyword]: id }) => (typeof id === 'string' ? (ABSOLUTE_ID.exec(id) ?? []) : []));
};

/** Invalid JSON gives undefined: Helm reports where it is wrong. */
const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
};
