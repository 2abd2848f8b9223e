import { Ajv2020 } from 'ajv/dist/2020.js';
import { type AuthorCheck, compileAuthorSchema } from './compile-author-schema.ts';

/** Strict, so that a misspelt keyword does not accept everything. */
const AT_BUILD = { strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true } as const;
/** The build has judged the schema, maybe in another release of this program. */
const AT_SITE = { strict: false, validateSchema: false } as const;

/** One input's schema compiles on a factory's host in half a second at most; a bundle's is made of all of its packages'. */
const MAX_VALUES = { build: 2000, input: 2000, bundle: 10_000 } as const;

/**
 * A schema of site values (docs/bundle-format.md, `siteInputs.schema`), JSON Schema 2020-12, by the same engine and the same bounds
 * where it is built and where it is used. `format` is an annotation.
 * @throws FleetError SCHEMA_INVALID, or Error when it is no schema
 */
export const compileSiteSchema = (schema: object, what: 'build' | 'input' | 'bundle'): AuthorCheck =>
  compileAuthorSchema(schema, {
    engine: (options) => new Ajv2020(options),
    patterns: 'ecma',
    limits: { maxValues: MAX_VALUES[what] },
    options: what === 'build' ? AT_BUILD : AT_SITE,
  });
