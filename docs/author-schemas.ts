import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { defined } from '#bundles/defined';
import { hostPackageSchema } from '../scheduler/assemble/content/host-package-object.ts';
import { AZURE_PREFIX, readConfigMap } from '../scheduler/load/objects/config-map.ts';
import { FLEET_GROUP, FLEET_KINDS } from '../scheduler/load/objects/fleet-kinds.ts';
import { KALYPSO_GROUP, KALYPSO_KINDS } from '../scheduler/load/objects/kalypso-kinds.ts';

/**
 * The JSON Schema of each kind that people write: from the shape that the scheduler reads it with, with examples from the files in
 * docs/reference/examples, which hold every field.
 */

export type Schema = {
  readonly title?: string;
  readonly description?: string;
  readonly [keyword: string]: unknown;
};
export type Properties = Readonly<Record<string, Schema>>;

/** What an author writes: an object of a platform or an application. */
export type Authored = {
  /** Of its schema and its example: cluster-type, kalypso-cluster-type. */
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: Schema;
};

export const VERSION = 'v1alpha1';
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
/** A field that is accepted and has no meaning. */
export const NOT_READ = 'Not read.';

const kebab = (kind: string): string =>
  kind.replaceAll(/(?<=.)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

const authored = (name: string, apiVersion: string, kind: string, schema: Schema): Authored => {
  const { description, type, additionalProperties, required = [], properties, ...rules } = schema;
  return {
    name,
    apiVersion,
    kind,
    schema: {
      $schema: DIALECT,
      $id: `urn:fleet-ferry:schema:author:${name}:${VERSION}`,
      title: kind,
      description,
      type,
      additionalProperties,
      required: ['apiVersion', 'kind', ...(required as readonly string[])],
      properties: {
        ...(properties as Properties),
        apiVersion: { description: 'Group and version of this form.', const: apiVersion },
        kind: { description: 'Kind of the object.', const: kind },
      },
      ...rules,
    },
  };
};

const kindsOf = (
  prefix: string,
  group: string,
  kinds: Readonly<Record<string, { readonly schema: Schema }>>,
): readonly Authored[] =>
  Object.entries(kinds).map(([kind, { schema }]) =>
    authored(`${prefix}${kebab(kind)}`, `${group}/${VERSION}`, kind, schema),
  );

const ours = kindsOf('', FLEET_GROUP, FLEET_KINDS);

/** Every kind that people write, in the order of the reference. */
export const AUTHORED: readonly Authored[] = [
  ...ours,
  authored('host-package', `${FLEET_GROUP}/${VERSION}`, 'HostPackage', hostPackageSchema()),
  ...kindsOf('kalypso-', KALYPSO_GROUP, KALYPSO_KINDS),
  authored('kalypso-config-map', 'v1', 'ConfigMap', readConfigMap.schema),
];

export const exampleOf = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'reference/examples', `${name}.yaml`), 'utf8');

const valuesIn = (text: string): readonly unknown[] =>
  parseAllDocuments(text).map((document) => document.toJS() as unknown);

export const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** At most this many examples of one field. */
const MAX_EXAMPLES = 3;

/** The schema with the values of the example files as `examples` of its fields. */
const withExamples = (schema: Schema, values: readonly unknown[]): Schema => {
  const {
    properties,
    items,
    additionalProperties: others,
  } = schema as {
    properties?: Properties;
    items?: Schema;
    additionalProperties?: Schema;
  };
  const within = (key: string): readonly unknown[] =>
    values.flatMap((value) => (isMapping(value) && value[key] !== undefined ? [value[key]] : []));
  const inside = {
    ...schema,
    ...defined({
      properties: properties
        ? Object.fromEntries(
            Object.entries(properties).map(([key, one]) => [key, withExamples(one, within(key))]),
          )
        : undefined,
      items: items?.['properties'] !== undefined ? withExamples(items, values.flat()) : undefined,
      additionalProperties:
        others?.['properties'] !== undefined
          ? withExamples(others, values.filter(isMapping).flatMap(Object.values))
          : undefined,
    }),
  };
  const holdsFields = [schema, items, others].some((one) => one?.['properties'] !== undefined);
  const isLeaf = !holdsFields && schema['const'] === undefined;
  const distinct = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  return isLeaf && distinct.length > 0 ? { ...inside, examples: distinct.slice(0, MAX_EXAMPLES) } : inside;
};

/** Every kind, its schema with examples. */
export const authoredWithExamples = (): readonly Authored[] =>
  AUTHORED.map((one) => ({ ...one, schema: withExamples(one.schema, valuesIn(exampleOf(one.name))) }));

/** Where `condition` holds, `rule` does. */
const onlyFor = (condition: Schema, rule: Schema): Schema => ({
  if: condition,
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: rule,
});

/** One schema for every object, chosen by apiVersion and kind: for files that hold several, and for editors. */
export const platformSchema = (schemas: readonly Authored[]): Schema => {
  const chosen = ({ apiVersion, kind }: Authored): Schema => ({
    type: 'object',
    required: ['apiVersion', 'kind', ...(kind === 'ConfigMap' ? ['metadata'] : [])],
    properties: {
      apiVersion: { const: apiVersion },
      kind: { const: kind },
      ...(kind === 'ConfigMap' && OURS),
    },
  });
  const versions = Map.groupBy(
    schemas.filter(({ apiVersion }) => apiVersion.includes('/')),
    ({ apiVersion }) => apiVersion,
  );
  return {
    $schema: DIALECT,
    $id: `urn:fleet-ferry:schema:author:platform:${VERSION}`,
    title: 'Objects of a platform or an application',
    description: 'Any object of Fleet Ferry or Kalypso. Other Kubernetes objects are not judged.',
    type: ['object', 'null'],
    properties: {
      apiVersion: { description: 'Group and version.', type: 'string' },
      kind: { description: 'Kind of the object.', type: 'string' },
    },
    allOf: [
      ...[...versions].map(([apiVersion, kinds]) =>
        onlyFor(
          { type: 'object', required: ['apiVersion'], properties: { apiVersion: { const: apiVersion } } },
          { required: ['kind'], properties: { kind: { enum: kinds.map(({ kind }) => kind) } } },
        ),
      ),
      ...schemas.map((one) => onlyFor(chosen(one), { $ref: `#/$defs/${one.name}` })),
    ],
    $defs: Object.fromEntries(
      schemas.map(({ name, schema: { $schema: _dialect, $id: _id, ...rest } }) => [name, rest]),
    ),
  };
};

/** Only ConfigMaps that are meant for the platform are read. */
const OURS = {
  metadata: {
    type: 'object',
    anyOf: [
      { required: ['name'], properties: { name: { type: 'string', pattern: `^${AZURE_PREFIX}` } } },
      {
        required: ['labels'],
        properties: {
          labels: {
            type: 'object',
            required: ['platform-config'],
            properties: { 'platform-config': { enum: ['true', true] } },
          },
        },
      },
    ],
  },
} as const;
