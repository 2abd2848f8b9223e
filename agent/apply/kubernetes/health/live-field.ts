/**
 * Reads fields of a live object of any shape. An absent field or one of another type is undefined, never an error.
 */

export const fieldOf = (value: unknown, ...path: readonly string[]): unknown => {
  let at = value;
  for (const key of path) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at;
};

export const textOf = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = fieldOf(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

export const numberOf = (value: unknown, ...path: readonly string[]): number | undefined => {
  const found = fieldOf(value, ...path);
  return typeof found === 'number' ? found : undefined;
};

export const listOf = (value: unknown, ...path: readonly string[]): readonly unknown[] => {
  const found = fieldOf(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** An RFC 3339 field in milliseconds since 1970. */
export const timeOf = (value: unknown, ...path: readonly string[]): number | undefined => {
  const time = Date.parse(textOf(value, ...path) ?? '');
  return Number.isNaN(time) ? undefined : time;
};
