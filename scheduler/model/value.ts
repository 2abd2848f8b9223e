/** A YAML value: what templates, schemas and merges work on. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
