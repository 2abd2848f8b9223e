import { parseAllDocuments } from 'yaml';
import { isRecord } from '#bundles/is-record';
import { parseJson } from '#bundles/json/parse-json';
import { yamlFault } from '#bundles/json/yaml-fault';
import type { Value } from '../../model/model.ts';
import { mapped, refuse, type Shape, text } from '../../model/yaml/shape.ts';

const MAX_SCHEMA = 512 * 1024;

/** Parses a JSON Schema from JSON or YAML text. `error` is the reason when it is neither. */
export const parseSchemaText = (source: string): { schema: Value } | { error: string } => {
  if (source.length > MAX_SCHEMA) return { error: `it is longer than ${MAX_SCHEMA} characters` };
  try {
    return asSchema(parseJson(source));
  } catch (error) {
    // Text that starts with a bracket is meant as JSON, so that error is the useful one.
    if (/^\s*[{[]/.test(source)) return { error: (error as Error).message };
  }
  const documents = parseAllDocuments(source, { prettyErrors: false, logLevel: 'silent' });
  const [first] = Array.isArray(documents) ? documents : [];
  const problem = first?.errors[0];
  if (problem) return { error: yamlFault(problem.message) };
  try {
    return asSchema(first?.toJS({ maxAliasCount: 1000 }));
  } catch (error) {
    // An alias without an anchor, or too many resolved aliases.
    return { error: yamlFault((error as Error).message) };
  }
};

const asSchema = (value: unknown): { schema: Value } | { error: string } =>
  typeof value === 'boolean' || isRecord(value)
    ? { schema: value as Value }
    : { error: 'a schema is a mapping, true or false' };

export const schemaText: Shape<Value> = mapped(text, (source, node, path, reading) => {
  const parsed = parseSchemaText(source);
  if ('schema' in parsed) return parsed.schema;
  return refuse(reading, node, `${path} is not a JSON Schema: ${parsed.error}`, undefined, 'SCHEMA_INVALID');
});
