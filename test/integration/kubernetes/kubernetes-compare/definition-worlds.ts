import * as fc from 'fast-check';
import { UNWATCHED } from './objects.ts';

/** Generated packages that bring a kind of their own and objects of it, for the property of worlds-on-cluster.ts. */

type Fields = Readonly<Record<string, unknown>>;

/** The schema of each field that a definition may have, and values of it. */
const FIELDS: Readonly<Record<string, { readonly schema: Fields; readonly values: readonly unknown[] }>> = {
  size: { schema: { type: 'integer', format: 'int64' }, values: [1, 2, 'LONG'] },
  mode: { schema: { type: 'string', enum: ['slow', 'fast'] }, values: ['slow', 'fast'] },
  any: { schema: { 'x-kubernetes-int-or-string': true }, values: [1, '1', '50%'] },
  none: { schema: { type: 'string', nullable: true }, values: [null, 'x'] },
  tags: {
    schema: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    values: [[], ['a'], ['b', 'a']],
  },
  items: {
    schema: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, port: { type: 'integer', default: 80 } },
      },
    },
    values: [[], [{ name: 'a' }], [{ name: 'b', port: 443 }, { name: 'a' }]],
  },
  settings: {
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    values: [{}, { a: '' }, { b: 'x' }],
  },
  free: {
    schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    values: [{}, { deep: { er: [1, null] } }],
  },
};

const DEFAULTS: Fields = { size: 7, mode: 'slow', none: 'd', settings: { by: 'default' } };

type DefinitionForm = {
  readonly fields: readonly string[];
  /** Fields with a default. */
  readonly defaults: readonly string[];
  /** 'v1', or both with one of them stored. */
  readonly versions: 'v1' | 'v1-stored' | 'v2-stored';
  readonly columns: boolean;
  readonly status: boolean;
  readonly shortNames: boolean;
  readonly labels: boolean;
};

type ThingForm = {
  readonly name: string;
  readonly newest: boolean;
  /** Which value each field has; null for `spec: {}`. */
  readonly picks: readonly number[] | null;
};

type Release = {
  /** null: the definition has left the package, with all objects of it. */
  readonly definition: DefinitionForm | null;
  readonly things: readonly ThingForm[];
};

export type DefinitionWorld = {
  readonly scope: 'Namespaced' | 'Cluster';
  readonly releases: readonly Release[];
  /** A tool has made the definition of the first release before, and perhaps an object of it that no package has. */
  readonly foreign: 'nothing' | 'the definition' | 'the definition and an object';
};

const names = Object.keys(FIELDS);
const VERSIONS = ['v1', 'v1-stored', 'v2-stored'] as const;

const form: fc.Arbitrary<DefinitionForm> = fc
  .record({
    fields: fc.subarray(names, { minLength: 1 }),
    defaults: fc.subarray(Object.keys(DEFAULTS)),
    versions: fc.constantFrom(...VERSIONS),
    columns: fc.boolean(),
    status: fc.boolean(),
    shortNames: fc.boolean(),
    labels: fc.boolean(),
  })
  .map((one) => ({ ...one, defaults: one.defaults.filter((name) => one.fields.includes(name)) }));

const things = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    newest: fc.boolean(),
    picks: fc.option(fc.array(fc.nat({ max: 3 }), { minLength: names.length, maxLength: names.length }), {
      freq: 3,
    }),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);

/** A version of which objects may be stored stays: the server refuses a definition without it. */
const keepingVersions = (first: DefinitionForm, second: DefinitionForm): DefinitionForm => ({
  ...second,
  versions: VERSIONS[Math.max(VERSIONS.indexOf(first.versions), VERSIONS.indexOf(second.versions))] ?? 'v1',
});

export const definitionWorld: fc.Arbitrary<DefinitionWorld> = fc
  .record({
    scope: fc.constantFrom('Namespaced' as const, 'Cluster' as const),
    first: fc.record({ definition: form, things }),
    second: fc.record({ definition: form, things }),
    fate: fc.constantFrom('changes', 'changes', 'stays', 'leaves'),
    foreign: fc.constantFrom(
      'nothing' as const,
      'the definition' as const,
      'the definition and an object' as const,
    ),
  })
  .map(({ scope, first, second, fate, foreign }) => {
    const next: Release =
      fate === 'leaves'
        ? { definition: null, things: [] }
        : {
            definition:
              fate === 'stays' ? first.definition : keepingVersions(first.definition, second.definition),
            things: second.things,
          };
    return { scope, releases: [first, next], foreign };
  });

/** The definition, as an object. @param group of the kind Thing, things */
export const definitionOf = (
  { scope }: Pick<DefinitionWorld, 'scope'>,
  form: DefinitionForm,
  group: string,
): Fields & { readonly metadata: Fields } => {
  const { fields, defaults, versions, columns, status, shortNames, labels } = form;
  const properties = Object.fromEntries(
    fields.map((name) => [
      name,
      { ...FIELDS[name]?.schema, ...(defaults.includes(name) && { default: DEFAULTS[name] }) },
    ]),
  );
  const openAPIV3Schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties },
      ...(status && { status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }),
    },
  };
  const version = (name: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema },
    ...(status && { subresources: { status: {} } }),
    ...(columns && {
      additionalPrinterColumns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
    }),
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}`, ...(labels && { labels: { team: 'a' } }) },
    spec: {
      group,
      scope,
      names: {
        plural: 'things',
        singular: 'thing',
        kind: 'Thing',
        ...(shortNames && { shortNames: ['th'] }),
      },
      versions: [
        version('v1', versions !== 'v2-stored'),
        ...(versions === 'v1' ? [] : [version('v2', versions === 'v2-stored')]),
      ],
    },
  };
};

/** The objects of a release: each has some of the fields that its definition has. */
export const thingsOf = (
  { scope }: Pick<DefinitionWorld, 'scope'>,
  { definition, things: all }: Release,
  { group, namespace }: { readonly group: string; readonly namespace: string },
): readonly Fields[] =>
  definition === null
    ? []
    : all.map(({ name, newest, picks }) => ({
        apiVersion: `${group}/${newest && definition.versions !== 'v1' ? 'v2' : 'v1'}`,
        kind: 'Thing',
        metadata: {
          name,
          annotations: UNWATCHED,
          ...(scope === 'Namespaced' && { namespace }),
        },
        spec: specOf(definition, picks),
      }));

const specOf = ({ fields }: DefinitionForm, picks: readonly number[] | null): Fields =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const { values = [] } = FIELDS[field] ?? {};
      const at = picks?.[names.indexOf(field)] ?? values.length;
      return at < values.length ? [[field, values[at]] as const] : [];
    }),
  );
