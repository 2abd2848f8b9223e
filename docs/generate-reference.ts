import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { LABEL } from '#bundles/names';
import { HOST_PACKAGE } from '../scheduler/assemble/content/host-package-object.ts';
import { AZURE_PREFIX, readConfigMap } from '../scheduler/load/objects/config-map.ts';
import { FLEET_GROUP, FLEET_KINDS } from '../scheduler/load/objects/fleet-kinds.ts';
import { KALYPSO_GROUP, KALYPSO_KINDS } from '../scheduler/load/objects/kalypso-kinds.ts';
import { objectName } from '../scheduler/model/yaml/shape.ts';
import { CLIENT, generateClient } from './generate-client.ts';
import { openApi } from './generate-openapi.ts';

/**
 * `npm run reference`: writes docs/schemas/author, docs/reference, docs/openapi.json and the client of the hub's API. The schemas of objects come from the shapes that the
 * scheduler reads them with, the schemas of configuration files are the published ones; examples are the files in
 * docs/reference/examples, which hold every field. docs/reference/commands comes from generate-commands.ts, docs/openapi.json from
 * generate-openapi.ts.
 */

type Schema = { readonly title?: string; readonly description?: string; readonly [keyword: string]: unknown };
type Properties = Readonly<Record<string, Schema>>;

/** What an author writes: an object of a platform or an application. */
export type Authored = {
  /** Of its schema and its example: cluster-type, kalypso-cluster-type. */
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: Schema;
};

const DOCS = import.meta.dirname;
const VERSION = 'v1alpha1';
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
/** A field that is accepted and has no meaning. */
const NOT_READ = 'Not read.';

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
  authored('host-package', `${FLEET_GROUP}/${VERSION}`, 'HostPackage', HOST_PACKAGE),
  ...kindsOf('kalypso-', KALYPSO_GROUP, KALYPSO_KINDS),
  authored('kalypso-config-map', 'v1', 'ConfigMap', readConfigMap.schema),
];

export const exampleOf = (name: string): string =>
  readFileSync(join(DOCS, 'reference/examples', `${name}.yaml`), 'utf8');

const valuesIn = (text: string): readonly unknown[] =>
  parseAllDocuments(text).map((document) => document.toJS() as unknown);

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
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
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, one]) => [key, withExamples(one, within(key))]),
      ),
    }),
    ...(items?.['properties'] !== undefined && { items: withExamples(items, values.flat()) }),
    ...(others?.['properties'] !== undefined && {
      additionalProperties: withExamples(others, values.filter(isMapping).flatMap(Object.values)),
    }),
  };
  const holdsFields = [schema, items, others].some((one) => one?.['properties'] !== undefined);
  const isLeaf = !holdsFields && schema['const'] === undefined;
  const distinct = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  return isLeaf && distinct.length > 0 ? { ...inside, examples: distinct.slice(0, MAX_EXAMPLES) } : inside;
};

/** Where `condition` holds, `rule` does. */
const onlyFor = (condition: Schema, rule: Schema): Schema => ({
  if: condition,
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: rule,
});

/** One schema for every object, chosen by apiVersion and kind: for files that hold several, and for editors. */
const platformSchema = (schemas: readonly Authored[]): Schema => {
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

type Row = {
  readonly path: string;
  readonly type: string;
  readonly fallback: string;
  readonly about: string;
};

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;

/** Patterns up to this length are shown. */
const MAX_PATTERN = 60;

const limitsOf = (schema: Schema): string => {
  const { minItems, maxItems, minimum, maximum, maxLength, pattern } = schema as Record<
    string,
    number | string | undefined
  >;
  const isRead = typeof pattern === 'string' && pattern.length <= MAX_PATTERN && !(pattern in NAMED);
  const largest = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const said = [
    minItems !== undefined && `at least ${minItems}`,
    maxItems !== undefined && `at most ${maxItems}`,
    minimum !== undefined && largest === undefined && `from ${minimum}`,
    minimum !== undefined && largest !== undefined && `${minimum} to ${largest}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    isRead && code(pattern),
  ].filter((one) => one !== false);
  return said.length === 0 ? '' : `, ${said.join(', ')}`;
};

/** Patterns that have a word of their own; the index explains them. */
const NAMED: Readonly<Record<string, string>> = {
  [LABEL.source]: 'name',
  [String(objectName.schema['pattern'])]: 'object name',
};

const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'mapping',
  array: 'list',
};

const typeOf = (schema: Schema): string => {
  const { type, enum: words, const: only, items, additionalProperties: others, oneOf } = schema;
  if (only !== undefined) return code(JSON.stringify(only));
  if (Array.isArray(words))
    return words
      .filter((word) => word !== null)
      .map((word) => code(String(word)))
      .join(' or ');
  if (Array.isArray(oneOf) && type === undefined) return 'mapping';
  const types = ([type ?? []] as (string | string[])[]).flat().filter((one) => one !== 'null');
  if (types.length === 0) return 'anything';
  const named = NAMED[String(schema['pattern'])];
  if (named !== undefined) return named;
  if (types.length === 1 && types[0] === 'array' && isMapping(items))
    return `list of ${typeOf(items)}${limitsOf(schema)}`;
  if (types.length === 1 && types[0] === 'object' && isMapping(others)) return `mapping of ${typeOf(others)}`;
  return `${types.map((one) => NAMES[one] ?? one).join(' or ')}${limitsOf(schema)}`;
};

const defaultOf = (schema: Schema, isRequired: boolean): string => {
  if (isRequired) return '**required**';
  const { default: value } = schema;
  if (value === undefined || value === '' || JSON.stringify(value) === '{}' || JSON.stringify(value) === '[]')
    return '';
  return isMapping(value) ? '' : code(typeof value === 'string' ? value : JSON.stringify(value));
};

/** Every field below a schema, one row each. */
const rowsOf = (schema: Schema, path: string, definitions: Properties): readonly Row[] => {
  const meant = resolve(schema, definitions);
  const branches =
    Array.isArray(meant['oneOf']) && meant['type'] === undefined ? (meant['oneOf'] as readonly Schema[]) : [];
  if (branches.length > 0) return branches.flatMap((one) => rowsOf(one, path, definitions));
  const {
    properties = {},
    required = [],
    items,
    additionalProperties: others,
  } = meant as {
    properties?: Properties;
    required?: readonly string[];
    items?: Schema;
    additionalProperties?: Schema;
  };
  const own = Object.entries(properties).flatMap(([key, written]): readonly Row[] => {
    const one = { ...resolve(written, definitions), ...written };
    if (one.description === NOT_READ || key === 'apiVersion' || key === 'kind') return [];
    const inside = path === '' ? key : `${path}.${key}`;
    const row = {
      path: inside,
      type: typeOf(one),
      fallback: defaultOf(one, required.includes(key)),
      about: one.description ?? '',
    };
    return [row, ...rowsOf(one, inside, definitions)];
  });
  return [
    ...own,
    ...(isMapping(items) ? rowsOf(items, `${path}[]`, definitions) : []),
    ...(isMapping(others) ? rowsOf(others, `${path}.<key>`, definitions) : []),
  ];
};

const resolve = (schema: Schema, definitions: Properties): Schema => {
  const { $ref } = schema;
  return typeof $ref === 'string' ? (definitions[$ref.replace('#/$defs/', '')] ?? {}) : schema;
};

/** Text of a schema in Markdown: angle brackets outside of code are no HTML. */
const prose = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .split('`')
    .map((part, at) => (at % 2 === 0 ? part.replaceAll('<', '&lt;') : part))
    .join('`');

const tableOf = (schema: Schema): string => {
  const rows = rowsOf(schema, '', (schema['$defs'] ?? {}) as Properties);
  const cells = rows.map(
    ({ path, type, fallback, about }) => `| ${code(path)} | ${type} | ${fallback} | ${prose(about)} |`,
  );
  return ['| field | type | default | meaning |', '| --- | --- | --- | --- |', ...cells].join('\n');
};

type Section = {
  readonly title: string;
  readonly name: string;
  readonly schema: Schema;
  readonly folder: string;
};

const sectionOf = ({ title, name, schema, folder }: Section): string => `## ${title}

${prose(schema.description ?? schema.title ?? '')} Schema: [${name}](../schemas/${folder}${name}.schema.json).

${tableOf(schema)}

\`\`\`yaml
${exampleOf(name).trimEnd()}
\`\`\`
`;

type Page = {
  readonly file: string;
  readonly title: string;
  readonly lead: string;
  readonly sections: readonly Section[];
};

const pageOf = ({ title, lead, sections }: Page): string => {
  const links = sections.map(
    ({ title: one }) => `[${one}](#${one.toLowerCase().replaceAll(/[^a-z0-9-]/g, '')})`,
  );
  return `<!-- Generated by npm run reference. -->

# ${title}

${lead}

${links.join(' · ')}

${sections.map(sectionOf).join('\n')}`;
};

const asSection = ({ name, kind, schema }: Authored): Section => ({
  title: kind,
  name,
  schema,
  folder: 'author/',
});

const CONFIGURATION = [
  ['fleet-scheduler.yaml', 'scheduler-config'],
  ['keys.yaml', 'keys-config'],
  ['agent.yaml', 'agent-config'],
] as const;

const publishedSchema = (name: string): Schema =>
  JSON.parse(readFileSync(join(DOCS, 'schemas', `${name}.schema.json`), 'utf8')) as Schema;

const pages = (schemas: readonly Authored[]): readonly Page[] => {
  const isOfApplication = ({ kind }: Authored): boolean => kind === 'Workload' || kind === 'HostPackage';
  const isKalypso = ({ name }: Authored): boolean => name.startsWith('kalypso-');
  return [
    {
      file: 'platform',
      title: 'Objects of a platform',
      lead: `What a platform team writes, \`apiVersion: ${FLEET_GROUP}/${VERSION}\`: \`fleet.yaml\` and \`images.lock.yaml\` at the root, the others in \`base/\` for every environment or in \`environments/<name>/\` for one.`,
      sections: schemas.filter((one) => !isKalypso(one) && !isOfApplication(one)).map(asSection),
    },
    {
      file: 'application',
      title: 'Objects of an application',
      lead: `What an application team writes in its own repository, \`apiVersion: ${FLEET_GROUP}/${VERSION}\`. Beside them are the manifests, as plain YAML, a kustomization or a Helm chart ([applications](../applications.md)).`,
      sections: schemas.filter((one) => !isKalypso(one) && isOfApplication(one)).map(asSection),
    },
    {
      file: 'kalypso',
      title: 'Objects of Kalypso',
      lead: `Control planes of Kalypso, \`apiVersion: ${KALYPSO_GROUP}/${VERSION}\`, are read as they are ([kalypso](../kalypso.md)).`,
      sections: schemas.filter(isKalypso).map(asSection),
    },
    {
      file: 'configuration',
      title: 'Configuration files',
      lead: 'One YAML file for each program. A flag overrides an environment variable, and an environment variable overrides the file. fleet-export has no file, only flags.',
      sections: CONFIGURATION.map(([title, name]) => ({
        title,
        name,
        schema: publishedSchema(name),
        folder: '',
      })),
    },
  ];
};

const indexOf = (all: readonly Page[]): string => `<!-- Generated by npm run reference. -->

# Reference

Every kind and field that an author writes, with type, default and an example, and every verb of the three programs. The pages
are generated from the code: kinds and fields by way of the JSON Schemas in [schemas](../schemas/README.md).

| page | what |
| --- | --- |
${all
  .map(({ file, title, sections }) => {
    const kinds = sections.map(
      ({ title: one }) => `[${one}](${file}.md#${one.toLowerCase().replaceAll(/[^a-z0-9-]/g, '')})`,
    );
    return `| [${title}](${file}.md) | ${kinds.join(', ')} |`;
  })
  .join('\n')}
| [fleet-scheduler](commands/fleet-scheduler.md), [fleet-export](commands/fleet-export.md), [fleet-agent](commands/fleet-agent.md) | every verb with its flags, examples and exit codes |

In the column *field*, \`[]\` stands for every entry of a list and \`<key>\` for every key of a mapping. A *name* is a DNS label: at
most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit. An *object name* has at most 253 characters and may have
dots. A field with the value null is absent. An unknown field is an error with file, line and column.
`;

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** With one line for each definition: they are in files of their own, for people to read. */
const jsonByDefinition = ({ $defs, ...rest }: Schema): string => {
  const lines = Object.entries($defs as Properties).map(
    ([name, one]) => `    ${JSON.stringify(name)}: ${JSON.stringify(one)}`,
  );
  return json(rest).replace(/\n\}\n$/, `,\n  "$defs": {\n${lines.join(',\n')}\n  }\n}\n`);
};

/** Every generated file, by its path below docs. */
export const generate = (): ReadonlyMap<string, string> => {
  const schemas = AUTHORED.map((one) => ({
    ...one,
    schema: withExamples(one.schema, valuesIn(exampleOf(one.name))),
  }));
  const all = pages(schemas);
  return new Map([
    ...schemas.map(({ name, schema }) => [`schemas/author/${name}.schema.json`, json(schema)] as const),
    ['schemas/author/platform.schema.json', jsonByDefinition(platformSchema(schemas))] as const,
    ['openapi.json', json(openApi())] as const,
    ['reference/README.md', indexOf(all)] as const,
    ...all.map((page) => [`reference/${page.file}.md`, pageOf(page)] as const),
  ]);
};

/** Folders with nothing but generated files. */
const isGenerated = (file: string): boolean =>
  /^schemas\/author\/.*\.json$|^reference\/(?:commands\/)?[^/]*\.md$/.test(file);

/** Generated files that are there, by their path below docs. */
export const generated = (): readonly string[] => [
  'openapi.json',
  CLIENT,
  ...['schemas/author', 'reference', 'reference/commands'].flatMap((folder) =>
    readdirSync(join(DOCS, folder))
      .map((name) => `${folder}/${name}`)
      .filter(isGenerated),
  ),
];

if (import.meta.main) {
  for (const folder of ['schemas/author', 'reference/commands'])
    mkdirSync(join(DOCS, folder), { recursive: true });
  const { generateCommands } = await import('./generate-commands.ts');
  const write = (files: ReadonlyMap<string, string>): void => {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(DOCS, path)), { recursive: true });
      writeFileSync(join(DOCS, path), text);
    }
  };
  const files = new Map([...generate(), ...(await generateCommands())]);
  write(files);
  // It reads docs/openapi.json.
  const client = await generateClient();
  write(client);
  for (const stale of generated()) if (!files.has(stale) && !client.has(stale)) rmSync(join(DOCS, stale));
}
