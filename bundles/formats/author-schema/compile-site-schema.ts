import { Ajv2020 } from 'ajv/dist/2020.js';
import { type AuthorCheck, type AuthorSchemaOptions, compileAuthorSchema } from './compile-author-schema.ts';

const engine: AuthorSchemaOptions['engine'] = (options) => new Ajv2020(options);

/** Strict, so that a misspelt keyword does not accept everything. */
const AT_BUILD = { strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true } as const;
/** The build has validated the schema, possibly with another release of this program. */
const AT_SITE = { strict: false, validateSchema: false } as const;

/**
 * The schema of one input compiles in half a second at most on a small host. The schema of a bundle combines the schemas of all
 * its packages.
 */
const MAX_VALUES = { build: 2000, input: 2000, bundle: 10_000 } as const;

/**
 * Compiles a schema of site values (docs/bundle-format.md, `siteInputs.schema`), JSON Schema 2020-12, with the same limits at the build and
 * at the site. `format` is an annotation.
 * @throws FleetError SCHEMA_INVALID @throws Error when it is not a valid schema
 */
export const compileSiteSchema = (schema: object, what: 'build' | 'input' | 'bundle'): AuthorCheck =>
  compileAuthorSchema(schema, {
    engine,
    patterns: 'ecma',
    limits: { maxValues: MAX_VALUES[what] },
    options: what === 'build' ? AT_BUILD : AT_SITE,
  });
