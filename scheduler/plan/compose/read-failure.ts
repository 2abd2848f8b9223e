import type { ErrorObject } from 'ajv';
import { isRecord } from '#bundles/is-record';
import type { Value } from '../../model/model.ts';

/** The schema's type and description of a missing value. */
export type WantedValue = { readonly type: string | undefined; readonly description: string | undefined };

export type SchemaFailure = {
  /** Keys and indexes from the root. */
  readonly path: readonly string[];
  readonly says: string;
  readonly wants: WantedValue | undefined;
};

/** Converts an error of Ajv to the wording of our messages. The schema must be compiled with `verbose`. */
export const readFailure = (error: ErrorObject, root: Value): SchemaFailure => {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const params = error.params as Readonly<Record<string, unknown>>;
  const at = (name: unknown) => [...path, String(name)];
  const missing = (name: unknown): SchemaFailure => ({
    path: at(name),
    says: 'is missing',
    wants: wantedOf(error.parentSchema, String(name), root),
  });
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired':
    case 'dependencies':
      return missing(params['missingProperty']);
    case 'additionalProperties':
      return { path: at(params['additionalProperty']), says: 'is not allowed', wants: undefined };
    case 'unevaluatedProperties':
      return { path: at(params['unevaluatedProperty']), says: 'is not allowed', wants: undefined };
    case 'enum':
      return { path, says: `must be one of ${JSON.stringify(params['allowedValues'])}`, wants: undefined };
    case 'const':
      return { path, says: `must be ${JSON.stringify(params['allowedValue'])}`, wants: undefined };
    default:
      return { path, says: error.message ?? `fails ${error.keyword}`, wants: undefined };
  }
};

type Mapping = { readonly [key: string]: unknown };

const asMapping = (value: unknown): Mapping => (isRecord(value) ? value : {});

const wantedOf = (parent: unknown, name: string, root: Value): WantedValue => {
  let schema = asMapping(asMapping(asMapping(parent)['properties'])[name]);
  const ref = schema['$ref'];
  // Only one step: a longer chain of references rarely ends at a description.
  if (typeof ref === 'string' && ref.startsWith('#/'))
    schema = { ...asMapping(resolve(root, ref)), ...schema };
  const { type, enum: words, description, title } = schema;
  const text = (value: unknown) => (typeof value === 'string' ? value.trim() : undefined);
  const kind = Array.isArray(type) ? type.join(' or ') : text(type);
  const chosen = Array.isArray(words)
    ? `one of ${words.map((word) => JSON.stringify(word)).join(', ')}`
    : undefined;
  return { type: chosen ?? kind, description: text(description) ?? text(title) };
};

const resolve = (root: unknown, ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (found, part) => asMapping(found)[part.replaceAll('~1', '/').replaceAll('~0', '~')],
      root,
    );
