import type { SchemaName } from './schema-names.ts';
import { VALIDATORS } from './validators.js';

/** An error of Ajv. */
export type Mistake = {
  /** JSON pointer (RFC 6901) to the value that does not fit. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly message: string;
  readonly params: {
    readonly additionalProperty?: string;
    readonly allowedValues?: readonly unknown[];
    readonly pattern?: string;
  };
};

/** Returns the first mistake of a value, undefined where the value fits. */
export type Check = (value: unknown) => Mistake | undefined;

export const checkFor = (name: SchemaName): Check => {
  const validate = VALIDATORS[name];
  return (value) => (validate(value) ? undefined : validate.errors?.[0]);
};
