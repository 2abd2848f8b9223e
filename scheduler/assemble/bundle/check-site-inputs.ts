import { compileSiteSchema } from '#bundles/formats/author-schema/compile-site-schema';
import { parseBundleJson } from '#bundles/formats/bundle/config';
import { envStatements } from '#bundles/formats/bundle/env-statements';
import { FleetError } from '#bundles/errors';
import { canonicalBytes } from '#bundles/json/canonical';
import { parseStrictJson } from '#bundles/json/strict-json';
import { didYouMean } from '#bundles/nearest-name';
import type { Value } from '../../model/model.ts';
import type { ResolvedFile } from '../content/check-host-paths.ts';
import type { SiteInputObject } from '../content/host-package-object.ts';
import type { PlacedPlaybook } from '../content/playbooks/place-playbooks.ts';
import { wordsOfPlaybook } from '../content/playbooks/words-of-playbook.ts';

/** Parses a file with site inputs as the agent does. */
const JSON_LIMITS = { maxBytes: 8 << 20, maxDepth: 64 };
const VARIABLE = /^\/[A-Za-z_][A-Za-z0-9_]*$/;
const WRITE_IT = 'Write it into the file with some value; the site puts in its own';

/**
 * Checks that each site input of a HostPackage goes to a field that the package's file has, that each one of a playbook goes to a
 * variable that the playbook names, and that each has a valid schema. A misspelled field would be a new one at the site, beside the
 * one that the program reads.
 * @throws FleetError REFERENCE_MISSING, FIELD_INVALID, SCHEMA_INVALID, OBJECT_CLASH with the place of the input; DIGEST_MISMATCH
 */
export const checkSiteInputs = async (
  inputs: readonly SiteInputObject[],
  playbooks: readonly PlacedPlaybook[],
  files: readonly ResolvedFile[],
  signal: AbortSignal,
): Promise<void> => {
  const byPath = new Map(files.map((it) => [it.file.path, it]));
  const parse = parseOnce();
  for (const input of inputs) checkTarget(input, byPath.get(input.file), parse);
  for (const playbook of playbooks) await checkVariables(playbook, byPath, signal);
  const schemas = new Map<string, string>();
  let values = 0;
  for (const input of [...inputs, ...playbooks.flatMap(({ siteInputs }) => siteInputs)]) {
    const schema = JSON.stringify(input.schema);
    const known = schemas.get(input.name);
    if (known === schema) continue;
    if (known !== undefined)
      throw refusal('OBJECT_CLASH', input, 'has two different schemas', 'Make them the same, or rename one');
    values += valuesIn(input.schema);
    if (values > MAX_VALUES)
      throw refusal(
        'SCHEMA_INVALID',
        input,
        `is one of too many: the schemas of all inputs have more than ${MAX_VALUES} values`,
        'Make one input of several, or the schemas smaller',
      );
    checkSchema(input);
    schemas.set(input.name, schema);
  }
};

/** As many as the schema of a whole bundle may have where agents judge by it: each input costs milliseconds. */
const MAX_VALUES = 10_000;

const valuesIn = (value: Value): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one: Value) => sum + valuesIn(one), 1)
    : 1;

/** The fields of a file that site inputs may go to, parsed once for all of them. */
type Parsed = { readonly variables: ReadonlySet<string> } | { readonly document: unknown };

type Parse = (target: ResolvedFile, read: () => Parsed) => Parsed;

const parseOnce = (): Parse => {
  const known = new Map<ResolvedFile, Parsed>();
  return (target, read) => {
    const parsed = known.get(target) ?? read();
    known.set(target, parsed);
    return parsed;
  };
};

const checkTarget = (input: SiteInputObject, target: ResolvedFile | undefined, parse: Parse): void => {
  const hint = 'Name a file of the package with format: env or json';
  if (!target)
    throw refusal('REFERENCE_MISSING', input, `goes to ${input.file}, which is no file of the package`, hint);
  switch (target.file.format) {
    case 'env':
      checkVariable(input, target, parse);
      return;
    case 'json':
      checkField(input, target, parse);
      return;
    case undefined:
      throw refusal('REFERENCE_MISSING', input, `goes to ${input.file}, which has no format`, hint);
    default:
      target.file.format satisfies never;
  }
};

const checkVariable = (input: SiteInputObject, target: ResolvedFile, parse: Parse): void => {
  if (!VARIABLE.test(input.pointer))
    throw refusal(
      'FIELD_INVALID',
      input,
      `goes to ${JSON.stringify(input.pointer)}, which is no variable of an env file`,
      'Write it like /LINE_NUMBER',
    );
  const parsed = parse(target, () => ({ variables: variablesIn(input, target) }));
  if (!('variables' in parsed) || parsed.variables.has(input.pointer)) return;
  throw noField(input, [...parsed.variables], 'variable');
};

const variablesIn = (input: SiteInputObject, { bytes }: ResolvedFile): ReadonlySet<string> => {
  const text = (bytes?.bytes ?? Buffer.alloc(0)).toString('latin1');
  const assigned = readable(input, () => envStatements(text, input.file)).map(({ key }) => key);
  // The agent appends an assignment after an `export`, which sh reads the same way.
  const exported = [...text.matchAll(/^[ \t]*export[ \t]+([A-Za-z_][A-Za-z0-9_]*)=/gm)].map(([, key]) => key);
  return new Set([...assigned, ...exported].map((key) => `/${key}`));
};

const checkField = (input: SiteInputObject, target: ResolvedFile, parse: Parse): void => {
  const parsed = parse(target, () => ({
    document: readable(input, () =>
      parseStrictJson(target.bytes?.bytes ?? Buffer.alloc(0), JSON_LIMITS, input.file),
    ),
  }));
  const document = 'document' in parsed ? parsed.document : undefined;
  const tokens = input.pointer.slice(1).split('/').map(unescape);
  if (tokens.reduce(childOf, document) === undefined) throw noField(input, pointersOf(document), 'field');
};

/** @throws FleetError FIELD_INVALID if the file cannot be parsed */
const readable = <T>(input: SiteInputObject, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw refusal(
      'FIELD_INVALID',
      input,
      `goes to a file that cannot be read: ${error.message}`,
      'Correct the file',
    );
  }
};

const unescape = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

const escape = (token: string): string => token.replaceAll('~', '~0').replaceAll('/', '~1');

const childOf = (node: unknown, token: string): unknown => {
  if (Array.isArray(node)) return /^(?:0|[1-9]\d{0,8})$/.test(token) ? node[Number(token)] : undefined;
  return isObject(node) && Object.hasOwn(node, token) ? node[token] : undefined;
};

const isObject = (node: unknown): node is Record<string, unknown> =>
  typeof node === 'object' && node !== null && !Array.isArray(node);

/** Pointers that a suggestion is chosen from; a file with more gets one from its first. */
const MAX_POINTERS = 10_000;

/** The pointers of the fields and items of a document, outer ones first. */
const pointersOf = (document: unknown): readonly string[] => {
  const found: (readonly [pointer: string, node: unknown])[] = [['', document]];
  for (let at = 0; at < found.length && found.length < MAX_POINTERS; at += 1) {
    const [pointer, node] = found[at] as (typeof found)[number];
    if (typeof node !== 'object' || node === null) continue;
    for (const [key, child] of Object.entries(node)) found.push([`${pointer}/${escape(key)}`, child]);
  }
  return found.slice(1).map(([pointer]) => pointer);
};

/** The variables of a playbook are its own, and no file lists them all: one that no task and no template names is misspelled. */
const checkVariables = async (
  { siteInputs, ...playbook }: PlacedPlaybook,
  byPath: ReadonlyMap<string, ResolvedFile>,
  signal: AbortSignal,
): Promise<void> => {
  if (siteInputs.length === 0) return;
  const words = await wordsOfPlaybook(playbook, byPath, signal);
  const unknown = siteInputs.find(({ pointer }) => !words.has(pointer.slice(1)));
  if (!unknown) return;
  const variable = unknown.pointer.slice(1);
  throw refusal(
    'REFERENCE_MISSING',
    unknown,
    `goes to the variable ${variable}, which nothing in the playbook ${playbook.playbook.name} names`,
    `${didYouMean(variable, words) ?? ''}A variable whose name the playbook puts together belongs under variables, with some value`,
  );
};

/** Names the nearest existing place: a slip of the pen, or the same name elsewhere in the file. */
const noField = (
  input: SiteInputObject,
  pointers: readonly string[],
  what: 'field' | 'variable',
): FleetError => {
  const name = input.pointer.slice(input.pointer.lastIndexOf('/')).toLowerCase();
  const elsewhere = pointers.find((pointer) => pointer.toLowerCase().endsWith(name));
  const meant =
    didYouMean(input.pointer, pointers) ?? (elsewhere === undefined ? '' : `Did you mean ${elsewhere}? `);
  return refusal(
    'REFERENCE_MISSING',
    input,
    `goes to ${JSON.stringify(input.pointer)}, and ${input.file} has no such ${what}`,
    `${meant}${WRITE_IT}`,
  );
};

/** The schema as in the bundle, where a `$ref` to `#` refers to the whole document. */
const checkSchema = (input: SiteInputObject): void => {
  const schema = { type: 'object', properties: { [input.name]: input.schema } };
  try {
    // A schema that nests deeper than a bundle config may would make every agent refuse the bundle.
    parseBundleJson(canonicalBytes({ siteInputs: { schema } }, 'doubles'));
    // Validates a value that cannot be valid, so that lazily compiled parts of the schema fail here and not at a site.
    compileSiteSchema(schema, 'build')({});
  } catch (error) {
    const hint = error instanceof FleetError ? error.hint : undefined;
    throw refusal(
      'SCHEMA_INVALID',
      input,
      `has a schema that cannot be used: ${(error as Error).message}`,
      hint ?? 'Write it in JSON Schema 2020-12',
    );
  }
};

const refusal = (
  code: 'REFERENCE_MISSING' | 'FIELD_INVALID' | 'SCHEMA_INVALID' | 'OBJECT_CLASH',
  { name, at }: SiteInputObject,
  says: string,
  hint: string,
): FleetError => new FleetError(code, `site input ${name} ${says}`, { at, hint });
