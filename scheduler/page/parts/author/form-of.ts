import { defined } from '#bundles/defined';
import type { Json } from '#bundles/json-value';
import type { RJSFSchema, UiSchema } from '@rjsf/utils';
import { parse, stringify } from 'yaml';

/** The form for a JSON Schema. Lists, and mappings with free keys, are text fields with YAML. */
export type FormOf = {
  readonly schema: RJSFSchema;
  readonly uiSchema: UiSchema;
  readonly toForm: (value: unknown) => unknown;
  /** undefined: the field is empty, and is left out. @throws YamlFault */
  readonly fromForm: (data: unknown) => unknown;
};

/** A field whose text is not YAML. */
export class YamlFault extends Error {
  override readonly name = 'YamlFault';
}

type Values = Readonly<Record<string, Json>>;

/** Fields of `metadata` that the form has; others stay as they are. */
const ABOUT = ['name', 'labels'] as const;

/** The form for objects of a kind: name, labels, and the fields of `spec`, or of the object itself. */
export const formOf = (schema: RJSFSchema, isNew: boolean): FormOf => {
  const { metadata, spec, data } = propertiesOf(schema);
  const about = propertiesOf(metadata ?? {});
  const shown: Record<string, RJSFSchema> = {};
  for (const name of ABOUT) if (about[name]) shown[name] = about[name];
  const root = spec ?? { type: 'object', properties: data === undefined ? {} : { data } };
  const whole = fieldsOf({
    type: 'object',
    required: ['name'],
    properties: { ...shown, spec: { ...root, title: '' } },
  });
  return {
    ...whole,
    uiSchema: { ...whole.uiSchema, name: { 'ui:readonly': !isNew } },
    toForm: (value) => {
      const {
        metadata: named = {},
        spec: inside,
        data: values,
      } = value as Record<string, Values | undefined>;
      return whole.toForm({ ...named, spec: spec === undefined ? { data: values } : inside });
    },
  };
};

/** An object with the data of its form; what the form does not have stays. */
export const objectOf = (
  about: { readonly apiVersion: string; readonly kind: string },
  { fromForm, schema }: FormOf,
  data: unknown,
  before: Values = {},
): Values => {
  const { spec = {}, ...named } = fromForm(data) as { readonly spec?: Values };
  const { labels: _, ...metadata } = (before['metadata'] ?? {}) as Values;
  const isSpec = !Object.hasOwn(propertiesOf(propertiesOf(schema)['spec'] ?? {}), 'data');
  return {
    ...before,
    apiVersion: before['apiVersion'] ?? about.apiVersion,
    kind: about.kind,
    metadata: { ...metadata, ...named },
    ...(isSpec ? { spec } : spec),
  };
};

const propertiesOf = ({ properties = {} }: RJSFSchema): Readonly<Record<string, RJSFSchema | undefined>> =>
  properties as Readonly<Record<string, RJSFSchema>>;

const fieldsOf = (schema: RJSFSchema): FormOf => {
  const fields = Object.entries(propertiesOf(schema)).flatMap(([name, one]) =>
    one === undefined || one.description === 'Not read.' ? [] : [[name, fieldOf(one)] as const],
  );
  return {
    schema: {
      ...about(schema),
      type: 'object',
      required: schema.required ?? [],
      properties: Object.fromEntries(fields.map(([name, one]) => [name, one.schema])),
    },
    uiSchema: Object.fromEntries(fields.map(([name, one]) => [name, one.uiSchema])),
    toForm: (value) =>
      Object.fromEntries(
        fields.flatMap(([name, one]) => {
          const inside = one.toForm((value as Values | undefined | null)?.[name]);
          return inside === undefined ? [] : [[name, inside]];
        }),
      ),
    fromForm: (data) => {
      const entries = fields.flatMap(([name, one]) => {
        const inside = one.fromForm((data as Values | undefined)?.[name]);
        // The library fills in groups of fields; an empty mapping that a person wrote as YAML has a meaning (`siteSelector: {}`).
        const isFilledIn = one.schema.type === 'object' && schema.required?.includes(name) !== true;
        return inside === undefined || (isFilledIn && isEmpty(inside)) ? [] : [[name, inside] as const];
      });
      return Object.fromEntries(entries);
    },
  };
};

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

const fieldOf = (schema: RJSFSchema): FormOf => {
  const words = schema.enum?.filter((word) => word !== null);
  const types = [schema.type ?? []].flat().filter((one) => one !== 'null');
  const [type] = types;
  if (words !== undefined) return scalar({ ...about(schema), type: 'string', enum: words });
  if (types.length === 1 && (type === 'boolean' || type === 'integer' || type === 'number'))
    return scalar({ ...about(schema), type });
  if (types.length === 1 && type === 'string') {
    const { pattern, maxLength } = schema;
    return scalar({ ...about(schema), type, ...defined({ pattern, maxLength }) });
  }
  if (types.length === 1 && type === 'object' && schema.properties !== undefined) return fieldsOf(schema);
  return yaml(schema);
};

/** Title, description and an example, for people. */
const about = ({ title, description, examples, default: preset }: RJSFSchema): RJSFSchema => {
  const [example] = Array.isArray(examples) ? (examples as readonly unknown[]) : [];
  const parts = [
    description,
    preset === undefined || preset === null || isEmpty(preset)
      ? undefined
      : `Default: ${JSON.stringify(preset)}.`,
    example === undefined ? undefined : `Example: ${JSON.stringify(example)}`,
  ].filter((part) => part !== undefined);
  return defined({ title, description: parts.length > 0 ? parts.join(' ') : undefined });
};

const scalar = (schema: RJSFSchema): FormOf => ({
  schema,
  uiSchema:
    schema.type === 'integer' || schema.type === 'number' ? { 'ui:options': { hideControls: true } } : {},
  toForm: (value) => value ?? undefined,
  fromForm: (data) => (data === '' || data === null ? undefined : data),
});

const yaml = (schema: RJSFSchema): FormOf => {
  const { description, ...named } = about(schema);
  return {
    schema: { ...named, type: 'string', description: `${description ?? ''} Write it as YAML.`.trim() },
    uiSchema: { 'ui:widget': 'textarea', 'ui:options': { rows: 3 } },
    toForm: (value) =>
      value === undefined || value === null ? undefined : stringify(value, { lineWidth: 0 }).trimEnd(),
    fromForm: (data) => {
      if (typeof data !== 'string' || data.trim() === '') return undefined;
      try {
        return parse(data) as unknown;
      } catch (error) {
        throw new YamlFault(error instanceof Error ? error.message.split('\n', 1)[0] : 'not YAML');
      }
    },
  };
};
