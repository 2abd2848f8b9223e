/** An object of JSON or YAML, and neither null nor a list. */
export const isRecord = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
