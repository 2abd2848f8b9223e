import type { Mistake } from './check-for.ts';
import type { SchemaName } from './schema-names.ts';

type Validator = {
  (value: unknown): boolean;
  /** Of the last call: not empty when it returned false, with the first error first. */
  readonly errors?: readonly Mistake[] | null;
};
export declare const VALIDATORS: { readonly [name in SchemaName]: Validator };
/** Without their descriptions. */
export declare const SCHEMAS: { readonly [name in SchemaName]: object };
