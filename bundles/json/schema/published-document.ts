import type { SchemaName } from './schema-names.ts';

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

type Validator = {
  (value: unknown): boolean;
  /** Of the last call: not empty when it returned false, with the first error first. */
  readonly errors?: readonly Mistake[] | null;
};

/** A published schema, as validators.js exports it. */
export type PublishedDocument<Name extends SchemaName = SchemaName> = {
  readonly name: Name;
  readonly validate: Validator;
  /** Without its descriptions. */
  readonly schema: PublishedSchema;
};

/** The keywords of a published schema that the programs look at. */
export type PublishedSchema = {
  readonly properties?: { readonly [field: string]: PublishedSchema };
  readonly items?: PublishedSchema;
  readonly oneOf?: readonly PublishedSchema[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
};
