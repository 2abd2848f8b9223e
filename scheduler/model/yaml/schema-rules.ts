import type { Schema } from './shape.ts';

/** Rules between the fields of a mapping, as JSON Schemas. A field that is null is absent. */

/** All of these keys are present. */
export const given = (...keys: readonly string[]): Schema => ({
  required: keys,
  properties: Object.fromEntries(keys.map((key) => [key, { not: { type: 'null' } }])),
});

/** Exactly one of these keys is present. */
export const exactlyOne = (...keys: readonly string[]): Schema => ({ oneOf: keys.map((key) => given(key)) });

/** The key holds one of these words. */
export const enumOf = (key: string, ...words: readonly string[]): Schema => ({
  required: [key],
  properties: { [key]: { enum: words } },
});

/** The key holds a list with at least one entry. */
export const nonEmpty = (key: string): Schema => ({
  required: [key],
  properties: { [key]: { type: 'array', minItems: 1 } },
});

/** Where `when` matches, `rule` must match. */
export const onlyWith = (when: Schema, rule: Schema): Schema => ({ anyOf: [{ not: when }, rule] });
