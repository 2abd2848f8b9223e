import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { type RJSFSchema, type ValidatorType } from '@rjsf/utils';

/** A fault of a form, at the place of its field. */
export type FieldFault = { readonly path: readonly string[]; readonly message: string };

/**
 * Judges data by a JSON Schema without compiling it, which the content security policy forbids. The hub judges again, with Ajv.
 * An empty field has no value, so required ones are named at their own place.
 */
export const findFaults = (schema: RJSFSchema, data: unknown): readonly FieldFault[] => {
  const { valid, errors } = new Validator(schema as Schema, '2020-12', false).validate(data);
  return valid ? [] : errors.flatMap(toFaults);
};

/** Keywords whose errors repeat those of the schemas below them. */
const ABOVE: ReadonlySet<string> = new Set([
  'properties',
  'items',
  'prefixItems',
  'allOf',
  '$ref',
  'additionalProperties',
]);

const toFaults = ({ keyword, instanceLocation, error }: OutputUnit): readonly FieldFault[] => {
  if (ABOVE.has(keyword)) return [];
  const path = instanceLocation
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
  const [, missing] = keyword === 'required' ? (/required property "(.*)"\.?$/.exec(error) ?? []) : [];
  return missing === undefined
    ? [{ path, message: error }]
    : [{ path: [...path, missing], message: 'a value is needed here' }];
};

const judge = (schema: RJSFSchema, data: unknown, root: RJSFSchema): boolean => {
  const whole = '$defs' in schema ? schema : { ...schema, $defs: root.$defs };
  return new Validator(whole as Schema, '2020-12').validate(data).valid;
};

/** For the form library, which asks which alternative of a schema some data fits. */
export const validator: ValidatorType = {
  isValid: (schema, data, root) => judge(schema, data, root),
  rawValidation: (schema, data) => ({ errors: [...findFaults(schema, data)] as never[] }),
  validateFormData: () => ({ errors: [], errorSchema: {} }),
};
