import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { type DocumentName, parseDocument } from '#bundles/json/validate';
import { refusal } from '../bundles/refusal.ts';
import { EXAMPLES } from './schema-examples.ts';

const FOLDER = new URL('../../bundles/schemas/', import.meta.url);
const FILES = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.schema.json'))
  .toSorted();
const ajv = new Ajv2020({ allowUnionTypes: true, strict: true });

type Schema = {
  readonly $id: string;
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, { readonly type?: string | readonly string[] }>>;
};
const read = (file: string): Schema => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8'));
const compiled = new Map<string, ValidateFunction>();
const accepts = (name: string, value: unknown): boolean => {
  const validate = compiled.get(name) ?? ajv.compile(read(`${name}.schema.json`));
  compiled.set(name, validate);
  return validate(value);
};

/** Something that none of the types says: what a confused writer would put there. */
const wrongFor = (value: unknown): unknown => {
  if (Array.isArray(value)) return { '0': value[0] };
  if (typeof value === 'object' && value !== null) return [value];
  return typeof value === 'string' ? 7 : 'seven';
};

describe('a published schema', () => {
  it.each(FILES)('%s is valid and is named after its file', (file) => {
    const schema = read(file);
    const name = file.replace('.schema.json', '');
    expect(ajv.validateSchema(schema)).toBe(true);
    expect(schema.$id).toBe(`urn:fleet-ferry:schema:${name}:v1`);
    expect(() => accepts(name, {})).not.toThrow();
  });
});

it.each(['agent-config', 'keys-config', 'scheduler-config'])(
  'the schema %s is found at its address in docs too',
  (name) => {
    const address = new URL(`../../docs/schemas/${name}.schema.json`, import.meta.url);
    const { $ref } = JSON.parse(readFileSync(address, 'utf8')) as { readonly $ref: string };
    expect(new URL($ref, address).href).toBe(new URL(`${name}.schema.json`, FOLDER).href);
  },
);

describe.each(Object.entries(EXAMPLES))('the schema %s', (name, example) => {
  const schema = read(`${name}.schema.json`);
  const required = schema.required ?? [];

  it('accepts a complete document, and one with fields of a later version', () => {
    expect(accepts(name, example)).toBe(true);
    expect(accepts(name, { ...example, laterField: 1 })).toBe(true);
    expect(Object.keys(example).toSorted()).toEqual(Object.keys(schema.properties).toSorted());
  });

  it('refuses a document without a required field, and accepts one without an optional field', () => {
    for (const key of Object.keys(example)) {
      const { [key]: _left, ...rest } = example;
      expect({ key, accepted: accepts(name, rest) }).toEqual({ key, accepted: !required.includes(key) });
    }
  });

  it('refuses another type for any value', () => {
    for (const [key, value] of Object.entries(example)) {
      expect({ key, accepted: accepts(name, { ...example, [key]: wrongFor(value) }) }).toEqual({
        key,
        accepted: false,
      });
    }
    for (const value of [null, [], 'text', 7]) expect(accepts(name, value)).toBe(false);
  });
});

describe('parseDocument', () => {
  /** No module reads this one as a whole document. */
  const parsed = Object.keys(EXAMPLES).filter((name) => name !== 'statement');

  it.each(parsed)('as %s returns the document or throws a FleetError', (name) => {
    const example = EXAMPLES[name];
    expect(parseDocument(name as DocumentName, example, 'it')).toBe(example);
    const { required = [] } = read(`${name}.schema.json`);
    if (required.length > 0)
      expect(refusal(() => parseDocument(name as DocumentName, {}, 'it'))).toBe('SCHEMA');
    expect(refusal(() => parseDocument(name as DocumentName, null, 'it'))).toBe('SCHEMA');
  });

  it.each(parsed)('as %s refuses unknown critical fields', (name) => {
    const judged = (critical: unknown) =>
      refusal(() => parseDocument(name as DocumentName, { ...EXAMPLES[name], critical }, 'it'));
    expect(judged(['quantum'])).toBe('UNSUPPORTED');
    expect(judged([])).toBeUndefined();
    for (const critical of [7, 'quantum', {}, true]) expect(judged(critical)).toBe('SCHEMA');
  });

  it('reports the JSON pointer of the first mismatch', () => {
    const { rollout: _rollout, ...rest } = EXAMPLES['release-predicate'] ?? {};
    const parse = (value: unknown) => () => parseDocument('release-predicate', value, 'the release');
    expect(parse({ ...rest, rollout: { percent: 101 } })).toThrow(
      'the release at /rollout/percent must be <= 100',
    );
    expect(parse(rest)).toThrow("the release must have required property 'rollout'");
  });

  it.each([
    ['release-predicate', { version: 10.5 }],
    ['release-predicate', { version: 0 }],
    ['release-predicate', { version: 2 ** 53 }],
    ['release-predicate', { rollout: { percent: -1 } }],
    ['release-predicate', { rollout: { percent: 50.5 } }],
    ['release-predicate', { rollout: { percent: 1, selector: { ring: 7 } } }],
    ['release-predicate', { rollout: { percent: 1, also: [{ selector: { ring: 'one' } }] } }],
    ['release-predicate', { issuedAt: '2026-11-21T08:00:00+01:00' }],
    ['release-predicate', { previous: 'sha1:00' }],
    ['site-predicate', { agents: [{ name: 'line-1' }] }],
    ['site-predicate', { audience: { fleet: 'acme', site: '../plant' } }],
    ['event', { agent: 'line-1' }],
    ['event', { outcome: 'done' }],
    ['event', { seq: 0 }],
    ['medium', { format: 2 }],
    ['bundle-config', { kind: 'both' }],
    ['bundle-config', { closure: [{ digest: 'sha256:0', size: -1, mediaType: '' }] }],
    ['site-values', { agents: { 'line-1': 'text' } }],
    ['site-values', { composed: { 'line-1': { values: [] } } }],
    ['site-values', { composed: { 'line-1': { values: {}, fixed: { values: 7 } } } }],
  ])('as %s is refused with %j', (name, change) => {
    expect(accepts(name, { ...EXAMPLES[name], ...change })).toBe(false);
  });
});
