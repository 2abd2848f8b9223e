import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it, test } from 'vitest';
import { openApi } from '../../docs/generate-openapi.ts';

/**
 * The schema of OpenAPI 3.1 documents by the OpenAPI Initiative (2026-08-03), as @seriousme/openapi-schema-validator 2.11.0 has it
 * for Ajv: with plain references to the schema of a Schema Object, which is judged below by JSON Schema 2020-12.
 */
const OFFICIAL = new URL('../fixtures/openapi/openapi-3.1.schema.json', import.meta.url);

const ajv = new Ajv2020({ allErrors: true, strict: false, formats: { 'media-range': true } });
formats.default(ajv);
const isOpenApi = ajv.compile(JSON.parse(readFileSync(OFFICIAL, 'utf8')) as object);

type Operation = { readonly operationId: string; readonly security: readonly object[] };
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
};
const document = openApi() as Document;

/** Prefixes of paths that the page lists in tables. */
const BELOW = /^\/v1\/(?:environments\/\*|values|platform)\//;
/** Verbs of a rollout, which are one row. */
const STEPS = /(?<=rollouts\/\*)\/(?:advance|pause|resume|take-back)$/;

describe('the OpenAPI document', () => {
  it('is valid by the official schema of OpenAPI 3.1', () => {
    isOpenApi(document);
    expect(isOpenApi.errors ?? []).toEqual([]);
  });

  it.each([
    ['a version that is not 3.1', { openapi: '3.0.3' }],
    ['a path without a slash', { paths: { 'v1/roots': {} } }],
    ['an answer without a description', { paths: { '/a': { get: { responses: { 200: {} } } } } }],
    ['an unknown field', { path: {} }],
  ])('is refused by that schema with %s', (_, change) => {
    expect(isOpenApi({ ...document, ...change })).toBe(false);
  });

  it('has no operation that the page about the API does not name', () => {
    const plain = (text: string): string => text.replaceAll(/\\?[<{][^<>{}]*\\?[>}]/g, '*');
    const page = plain(readFileSync(new URL('../../docs/hub-api.md', import.meta.url), 'utf8'));
    const missing = Object.entries(document.paths).flatMap(([path, methods]) => {
      const whole = plain(path);
      const rest = whole.replace(BELOW, '').replace(STEPS, '/*');
      const isRow = (method: string): boolean =>
        new RegExp(`${method.toUpperCase()} ${RegExp.escape(rest)}(?![\\w-/])`).test(page);
      return Object.keys(methods)
        .filter((method) => !page.includes(whole) && !(rest !== whole && isRow(method)))
        .map((method) => `${method} ${path}`);
    });
    expect(missing).toEqual([]);
  });

  it('has a unique operationId for each operation', () => {
    const names = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(names.length).toBe(new Set(names).size);
  });

  it('refers only to components that exist, and has no unused ones', () => {
    const found = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)];
    const referred = new Set(found.map(([, name = '']) => name));
    const { securitySchemes = {}, ...components } = document.components;
    const there = Object.entries(components).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind}/${name}`),
    );
    expect([...referred].toSorted()).toEqual(there.toSorted());
    const security = Object.values(document.paths).flatMap((path) =>
      Object.values(path).flatMap((operation) => operation.security.flatMap(Object.keys)),
    );
    expect([...new Set(security)].toSorted()).toEqual(Object.keys(securitySchemes).toSorted());
  });
});

const strict = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
strict.addVocabulary(['openapi', 'info', 'tags', 'paths', 'components']);
strict.addSchema(document, 'openapi');

test.each(Object.keys(document.components['schemas'] ?? {}))(
  '%s of the OpenAPI document is a valid JSON Schema 2020-12',
  (name) => {
    expect(() => strict.compile({ $ref: `openapi#/components/schemas/${name}` })).not.toThrow();
  },
);
