import { FleetError, type Place } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';

/** The schema of the chart, and of subcharts that are folders in it. */
const VALUES_SCHEMA = /^(?:charts\/[^/]+\/)*values\.schema\.json$/;

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$schema']);

const META = 'core|applicator|validation|meta-data|content';

/** The drafts of JSON Schema that are built into Helm, and their parts. Helm would load any other from the network. */
const KNOWN_DRAFT = new RegExp(
  `^https?://json-schema\\.org/(?:${[
    'draft-0[467]/schema',
    `draft/2019-09/(?:schema|meta/(?:${META}|format))`,
    `draft/2020-12/(?:schema|meta/(?:${META}|unevaluated|format-annotation|format-assertion))`,
  ].join('|')})(?:#|$)`,
);

/**
 * Refuses a chart whose values.schema.json refers to another document: Helm would load it from the network or the local
 * disk. Also one that is not JSON. @param shown prefix of paths in messages
 * @throws FleetError FIELD_INVALID
 */
export const checkValuesSchemas = (files: Iterable<readonly [string, Buffer]>, shown: string): void => {
  for (const [path, bytes] of files) {
    if (!VALUES_SCHEMA.test(path)) continue;
    const at = { file: `${shown}${path}` };
    const found = findForeign(parsed(bytes, at));
    if (!found) continue;
    throw new FleetError(
      'FIELD_INVALID',
      `${found.keyword} refers to ${JSON.stringify(found.value)}, which is not in this schema`,
      {
        at,
        hint: found.keyword === '$schema' ? WRITE_DRAFT : COPY,
      },
    );
  }
};

const WRITE_DRAFT = 'Write a draft that is built into Helm: draft-04, draft-06, draft-07, 2019-09 or 2020-12';
const COPY = 'Copy that schema into $defs and refer to it as #/$defs/NAME: nothing is loaded while rendering';

type Reference = { readonly keyword: string; readonly value: string };

const findForeign = (schema: unknown): Reference | undefined => {
  // Helm loads what $schema names before it knows the ids of the schema.
  const own = new Set(['', ...ownIds(schema)]);
  return referencesIn(schema).find(
    ({ keyword, value }) =>
      !KNOWN_DRAFT.test(value) && !(keyword !== '$schema' && own.has(value.replace(/#.*$/s, ''))),
  );
};

/** Keywords whose value is data, in which a reference has no meaning. */
const DATA: ReadonlySet<string> = new Set(['default', 'enum', 'const', 'examples']);

/** Keywords whose value has schemas by name. */
const BY_NAME: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependencies',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

/** Data, and a map of schemas by name, is a schema as well where a reference points into it. Then nothing counts as data. */
const referencesIn = (schema: unknown): readonly Reference[] => {
  const all = collectReferences(schema, new Set());
  return all.every(({ value }) => pointsToSchema(value)) ? collectReferences(schema, DATA) : all;
};

/** Whether collectReferences reads what the reference points to as a schema. */
const pointsToSchema = (reference: string): boolean => {
  let byName = false;
  for (const word of wordsOf(reference.slice(reference.indexOf('#') + 1))) {
    if (!byName && DATA.has(word)) return false;
    byName = !byName && BY_NAME.has(word);
  }
  return !byName;
};

/** Steps of a JSON pointer (RFC 6901, section 6). */
const wordsOf = (fragment: string): readonly string[] => {
  try {
    return decodeURIComponent(fragment).split('/');
  } catch {
    return [...DATA];
  }
};

const collectReferences = (schema: unknown, skipped: ReadonlySet<string>): readonly Reference[] => {
  const found: Reference[] = [];
  const waiting: { readonly one: unknown; readonly byName: boolean }[] = [{ one: schema, byName: false }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { one, byName } = next;
    if (typeof one !== 'object' || one === null) continue;
    for (const [keyword, value] of Object.entries(one)) {
      if (REFERENCES.has(keyword) && typeof value === 'string') found.push({ keyword, value });
      else if (byName || !skipped.has(keyword))
        waiting.push({ one: value, byName: !byName && BY_NAME.has(keyword) });
    }
  }
  return found;
};

/** An id that is the same from everywhere in the schema. A fragment would name a place in another document. */
const ABSOLUTE_ID = /^https?:\/\/[^#]+(?=#?$)/;

const OLD_DRAFT = /\/draft-0[467]\//;
const ID_WITHOUT_DOLLAR = /\/draft-04\//;

/**
 * The ids of the schema and of those that are bundled in its definitions: a reference to one stays inside. Only those that Helm's library
 * takes for ids in this draft: to the others it would load the document. Draft 4 writes `id`, drafts up to 7 know no `$defs`
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

/** As Helm reads it, which skips a byte order mark. @throws FleetError FIELD_INVALID for what is not JSON: it could not be judged */
const parsed = (bytes: Buffer, at: Place): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new FleetError('FIELD_INVALID', 'this schema of values is not JSON', { at, cause: error });
  }
};
