import { FleetError } from '#bundles/errors';

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
  const own = new Set(['', idOf(schema)]);
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

/** The schema's own id: a reference to it stays inside the schema. */
const idOf = (schema: unknown): string => {
  const { $id, id } = (typeof schema === 'object' && schema !== null ? schema : {}) as Record<
    string,
    unknown
  >;
  const own = $id ?? id;
  return typeof own === 'string' ? own.replace(/#.*$/s, '') : '';
};

/** Invalid JSON gives undefined: Helm reports where it is wrong. */
const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
};
