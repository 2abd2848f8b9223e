import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LABEL } from '#bundles/names';
import { FLEET_GROUP } from '../scheduler/load/objects/fleet-kinds.ts';
import { KALYPSO_GROUP } from '../scheduler/load/objects/kalypso-kinds.ts';
import { objectName } from '../scheduler/model/yaml/shape.ts';
import {
  type Authored,
  exampleOf,
  isMapping,
  NOT_READ,
  type Properties,
  type Schema,
  VERSION,
} from './author-schemas.ts';

/** The pages of docs/reference on objects and configuration files, in Markdown: a table of the fields of each schema, and its example. */

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

${prose(schema.description ?? schema.title ?? '')} Schema: [${name}](${folder}${name}.schema.json).

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

export const pageOf = ({ title, lead, sections }: Page): string => {
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
  folder: '../schemas/author/',
});

const CONFIGURATION = [
  ['fleet-scheduler.yaml', 'scheduler-config'],
  ['keys.yaml', 'keys-config'],
  ['agent.yaml', 'agent-config'],
] as const;

const publishedSchema = (name: string): Schema =>
  JSON.parse(
    readFileSync(join(import.meta.dirname, '../bundles/schemas', `${name}.schema.json`), 'utf8'),
  ) as Schema;

export const pages = (schemas: readonly Authored[]): readonly Page[] => {
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
        folder: '../../bundles/schemas/',
      })),
    },
  ];
};

export const indexOf = (all: readonly Page[]): string => `<!-- Generated by npm run reference. -->

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
