import { generateClient } from '../../docs/generate-client.ts';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseConfig } from '../../agent/config/read-config.ts';
import { generateCommands } from '../../docs/generate-commands.ts';
import { AUTHORED, exampleOf } from '../../docs/author-schemas.ts';
import { generate, generated } from '../../docs/generate-reference.ts';
import { readHostPackages } from '../../scheduler/assemble/content/host-package-object.ts';
import { readObjects } from '../../scheduler/load/objects/read-objects.ts';
import { readConfiguration } from '../../scheduler/settings/configuration.ts';
import { refusal } from '../bundles/refusal.ts';
import { isTried } from '../harness/run/long.ts';

/** The published schemas of what authors write say the same as the programs that read it. */

const DOCS = new URL('../../docs/', import.meta.url);
const ajv = new Ajv2020({ allowUnionTypes: true, strict: true, strictRequired: false, strictTypes: false });

type Schema = Readonly<Record<string, unknown>>;
const read = (name: string): Schema =>
  JSON.parse(readFileSync(new URL(`schemas/author/${name}.schema.json`, DOCS), 'utf8')) as Schema;

const compiled = new Map<string, ValidateFunction>();
const fits = (name: string, value: unknown): boolean => {
  const validate = compiled.get(name) ?? ajv.compile(read(name));
  compiled.set(name, validate);
  return validate(value);
};

/** Does the scheduler read this object without a mistake? JSON is YAML. */
const isRead = (value: unknown): boolean => {
  const bytes = Buffer.from(JSON.stringify(value));
  const { kind } = value as { kind?: unknown };
  if (kind === 'HostPackage') return refusal(() => readHostPackages('one.yaml', bytes)) === undefined;
  const problems: Parameters<typeof readObjects>[1] = [];
  const source = { prefix: '', files: [{ path: 'one.yaml', bytes }] };
  readObjects(source, problems, kind === 'ConfigMap' ? 'passed' : 'refused');
  return problems.length === 0;
};

const objectsOf = (name: string): readonly unknown[] =>
  parseAllDocuments(exampleOf(name)).map((document) => document.toJS() as unknown);

const commandPages = await generateCommands();
const client = await generateClient();

describe('generated files', () => {
  const files = new Map([...generate(), ...commandPages, ...client]);

  it('are the committed ones, no more and no fewer', () => {
    expect([...files.keys()].toSorted()).toEqual(generated().toSorted());
  });

  it.each([...files.keys()])('%s is up to date with npm run reference', (path) => {
    expect(readFileSync(new URL(path, DOCS), 'utf8')).toBe(files.get(path));
  });
});

type Field = { readonly path: string; readonly schema: Schema };

/** Every field that the schema has, with its path. */
const fieldsOf = (schema: Schema, path: string): readonly Field[] => {
  const { properties = {}, items, additionalProperties: others } = schema;
  const own = Object.entries(properties as Readonly<Record<string, Schema>>).flatMap(([key, one]) => [
    { path: `${path}/${key}`, schema: one },
    ...fieldsOf(one, `${path}/${key}`),
  ]);
  const inner = [items, others].filter((one): one is Schema => typeof one === 'object' && one !== null);
  return [...own, ...inner.flatMap((one) => fieldsOf(one, path))];
};

/** Keys of Kalypso's manifests are those of ours. */
const isShown = (name: string, path: string): boolean =>
  !path.startsWith('/metadata/') && !(name.startsWith('kalypso-') && path.includes('/manifests/'));

const holdsFields = ({ properties, items, additionalProperties: others }: Schema): boolean =>
  [{ properties }, items, others].some((one) => (one as Schema | undefined)?.['properties'] !== undefined);

/** About so many changes of a kind are tried. */
const TRIED = 200;

/** What no schema can say: that a text is a JSON Schema. */
const BEYOND = /^\/spec\/schema = "/;

describe.each(AUTHORED.map(({ name, kind }) => [name, kind] as const))('the schema %s', (name, kind) => {
  const schema = read(name);

  it('is valid and is named after its file', () => {
    expect(ajv.validateSchema(schema)).toBe(true);
    expect(schema['$id']).toBe(`urn:fleet-ferry:schema:author:${name}:v1alpha1`);
  });

  it('describes every field in at most two sentences', () => {
    const described = fieldsOf(schema, '').map(({ path, schema: { description = '' } }) => [
      path,
      String(description).match(/[.](?: |$)/g)?.length ?? 0,
    ]);
    expect(described.filter(([, sentences]) => sentences !== 1 && sentences !== 2)).toEqual([]);
  });

  it('has an example for every field that the scheduler reads', () => {
    const bare = fieldsOf(schema, '').filter(({ path, schema: one }) => {
      const { description, examples, const: only } = one;
      if (!isShown(name, path) || holdsFields(one) || description === 'Not read.') return false;
      return examples === undefined && only === undefined;
    });
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  it('accepts the examples, as the scheduler does', () => {
    for (const object of objectsOf(name)) {
      expect([fits(name, object), fits('platform', object), isRead(object)]).toEqual([true, true, true]);
    }
  });

  it('accepts or refuses each mutated example as the scheduler does', { timeout: 120_000 }, () => {
    // Of a ConfigMap it is the schema of all kinds that says whether it is meant for the platform.
    const judge = kind === 'ConfigMap' ? 'platform' : name;
    const changes = objectsOf(name)
      .flatMap(partsOf)
      .flatMap((object, at) => [...changesOf(object, kind === 'HostPackage' && at > 0 ? ['spec'] : [])]);
    // Odd, so that neighbouring values are not always the same ones.
    const share = Math.floor(changes.length / TRIED) | 1;
    const judged = changes
      .filter((_, index) => isTried(index, share))
      .map(({ what, value }) => ({ what, schema: fits(judge, value), scheduler: isRead(value) }));
    expect(judged.filter(({ schema }) => schema).length).toBeGreaterThan(3);
    expect(judged.filter(({ schema }) => !schema).length).toBeGreaterThan(20);
    const other = judged.filter(({ what, schema, scheduler }) => schema !== scheduler && !BEYOND.test(what));
    expect(other).toEqual([]);
  });
});

describe.each(['scheduler-config', 'keys-config', 'agent-config'])('the configuration %s', (name) => {
  const schema = JSON.parse(
    readFileSync(new URL(`../bundles/schemas/${name}.schema.json`, DOCS), 'utf8'),
  ) as Schema;

  it('has a description for every key, and its example has every key', () => {
    const bare = fieldsOf(schema, '').filter(({ schema: { description } }) => description === undefined);
    expect(bare.map(({ path }) => path).filter((path) => !path.startsWith('/imagePolicy/'))).toEqual([]);
    const [example = {}] = objectsOf(name) as readonly object[];
    expect(Object.keys(example)).toEqual(Object.keys(schema['properties'] as object));
    expect(ajv.validate({ ...schema, $id: `${name}-example` }, example)).toBe(true);
  });
});

it('the agent reads the example of agent.yaml', () => {
  expect(parseConfig('agent.yaml', exampleOf('agent-config'))).toMatchObject({ services: 'systemd' });
});

it('the scheduler reads the example of fleet-scheduler.yaml', async () => {
  const config = fileURLToPath(new URL('reference/examples/scheduler-config.yaml', DOCS));
  expect(await readConfiguration({ config }, '/')).toMatchObject({ pullImages: true, poll: '1m' });
});

describe('the schema platform', () => {
  const all = read('platform');

  it('contains the schema of every kind', () => {
    const rest = ({ $schema: _dialect, $id: _id, ...schema }: Schema): Schema => schema;
    expect(all['$defs']).toEqual(Object.fromEntries(AUTHORED.map(({ name }) => [name, rest(read(name))])));
  });

  it.each([
    ['a mistyped kind', { apiVersion: 'fleet-ferry/v1alpha1', kind: 'ClusterTyp' }, false],
    ['a kind of the other group', { apiVersion: 'scheduler.kalypso.io/v1alpha1', kind: 'Fleet' }, false],
    ['a field that a kind does not have', { ...(objectsOf('fleet')[0] as object), sepc: {} }, false],
    ['another object', { apiVersion: 'v1', kind: 'Secret', data: { a: 'Yg==' } }, true],
    ['a ConfigMap of an application', { apiVersion: 'v1', kind: 'ConfigMap', data: { a: 7 } }, true],
    ['an empty document', null, true],
  ])('judges %s', (_what, value, good) => {
    expect(fits('platform', value)).toBe(good);
  });
});

type Change = { readonly what: string; readonly value: unknown };
type Path = readonly (string | number)[];
type Mapping = Readonly<Record<string, unknown>>;

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const replaced = (value: unknown, path: Path, by: unknown): unknown => {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  if (Array.isArray(value))
    return value.map((one: unknown, at) => (at === key ? replaced(one, rest, by) : one));
  return { ...(value as Mapping), [key]: replaced((value as Mapping)[key], rest, by) };
};

/** A HostPackage is long and none of its fields is required: it is judged entry by entry. */
const partsOf = (object: unknown): readonly unknown[] => {
  const { kind, spec } = object as { kind: string; spec: Mapping };
  if (kind !== 'HostPackage') return [object];
  return Object.entries(spec).flatMap(([key, value]) =>
    (Array.isArray(value) ? value.map((one: unknown) => [one]) : [value]).map((one) => ({
      ...(object as Mapping),
      spec: { [key]: one },
    })),
  );
};

/** Values of every type, nothing at all, and texts that look right at first. */
const OTHERS: readonly unknown[] = [
  null,
  true,
  0,
  7,
  -1,
  1.5,
  '',
  'text',
  'Text With Space',
  '../up',
  'https://x.example/y.tgz',
  [],
  [7],
  ['text'],
  {},
  { unknown: 7 },
];

const SUFFIXES = [' ', '.', '/', '*', '-', 'X'];

/** Each single change of a document: another value anywhere, a field that is missing, mistyped, added or doubled. */
function* changesOf(root: unknown, path: Path): Generator<Change> {
  const here = path.reduce<unknown>((value, key) => (value as Mapping)[key], root);
  const at = `/${path.join('/')}`;
  if (path.length > 0) {
    for (const other of OTHERS)
      yield { what: `${at} = ${JSON.stringify(other)}`, value: replaced(root, path, other) };
  }
  if (typeof here === 'string') {
    for (const suffix of SUFFIXES)
      yield { what: `${at} and ${suffix}`, value: replaced(root, path, `${here}${suffix}`) };
  }
  if (Array.isArray(here)) {
    yield { what: `${at} doubled`, value: replaced(root, path, [...here, ...here]) };
    yield { what: `${at} 300 times`, value: replaced(root, path, Array(300).fill(here[0])) };
    for (const index of here.keys()) yield* changesOf(root, [...path, index]);
  }
  if (!isMapping(here)) return;
  yield { what: `${at} with another`, value: replaced(root, path, { ...here, unknown: 'text' }) };
  // The kind is known when an object is judged.
  for (const key of Object.keys(here).filter(
    (one) => path.length > 0 || !['apiVersion', 'kind'].includes(one),
  )) {
    const { [key]: own, ...rest } = here;
    yield { what: `${at} without ${key}`, value: replaced(root, path, rest) };
    yield { what: `${at} with ${key}s`, value: replaced(root, path, { ...rest, [`${key}s`]: own }) };
    yield* changesOf(root, [...path, key]);
  }
}
