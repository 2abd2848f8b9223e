import { compileSiteSchema } from '#bundles/formats/author-schema/compile-site-schema';
import { parseBundleJson } from '#bundles/formats/bundle/config';
import { FleetError } from '#bundles/errors';
import { canonicalBytes } from '#bundles/json/canonical';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { ResolvedFile } from '../content/check-host-paths.ts';
import type { SiteInputObject } from '../content/host-package-object.ts';

/** Parses a file with site inputs as the agent does. */
const JSON_LIMITS = { maxBytes: 8 << 20, maxDepth: 64 };
const VARIABLE = /^\/[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Checks that each site input goes to an existing field and has a valid schema. An agent would refuse the whole bundle for an
 * error here.
 * @throws FleetError REFERENCE_MISSING, FIELD_INVALID, SCHEMA_INVALID, OBJECT_CLASH with the place of the input
 */
export const checkSiteInputs = (inputs: readonly SiteInputObject[], files: readonly ResolvedFile[]): void => {
  const byPath = new Map(files.map((it) => [it.file.path, it]));
  const schemas = new Map<string, string>();
  for (const input of inputs) {
    checkTarget(input, byPath.get(input.file));
    checkSchema(input);
    const schema = JSON.stringify(input.schema);
    if ((schemas.get(input.name) ?? schema) !== schema)
      throw refusal('OBJECT_CLASH', input, 'has two different schemas', 'Make them the same, or rename one');
    schemas.set(input.name, schema);
  }
};

const checkTarget = (input: SiteInputObject, target: ResolvedFile | undefined): void => {
  const hint = 'Name a file of the package with format: env or json';
  if (!target)
    throw refusal('REFERENCE_MISSING', input, `goes to ${input.file}, which is no file of the package`, hint);
  switch (target.file.format) {
    case 'env':
      if (VARIABLE.test(input.pointer)) return;
      throw refusal(
        'FIELD_INVALID',
        input,
        `goes to ${JSON.stringify(input.pointer)}, which is no variable of an env file`,
        'Write it like /LINE_NUMBER',
      );
    case 'json':
      checkField(input, target);
      return;
    case undefined:
      throw refusal('REFERENCE_MISSING', input, `goes to ${input.file}, which has no format`, hint);
    default:
      target.file.format satisfies never;
  }
};

/** The field itself may be absent, but not its parent. */
const checkField = (input: SiteInputObject, { bytes }: ResolvedFile): void => {
  let node: unknown;
  try {
    node = parseStrictJson(bytes?.bytes ?? Buffer.alloc(0), JSON_LIMITS, input.file);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw refusal(
      'FIELD_INVALID',
      input,
      `goes to a file that cannot be read: ${error.message}`,
      'Correct the file',
    );
  }
  const tokens = input.pointer.slice(1).split('/').map(unescape);
  for (const token of tokens.slice(0, -1)) node = childOf(node, token);
  if (Array.isArray(node) ? childOf(node, tokens.at(-1) as string) !== undefined : isObject(node)) return;
  throw refusal(
    'REFERENCE_MISSING',
    input,
    `goes to ${JSON.stringify(input.pointer)}, and ${input.file} has no such place`,
    'Write the field into the file with some value; the site puts in its own',
  );
};

const unescape = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

const childOf = (node: unknown, token: string): unknown => {
  if (Array.isArray(node)) return /^(?:0|[1-9]\d{0,8})$/.test(token) ? node[Number(token)] : undefined;
  return isObject(node) && Object.hasOwn(node, token) ? node[token] : undefined;
};

const isObject = (node: unknown): node is Record<string, unknown> =>
  typeof node === 'object' && node !== null && !Array.isArray(node);

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
