import { _, type Ajv } from 'ajv';
import { isRecord } from '../../is-record.ts';

/** Returns the same text for equal JSON values, regardless of the order of their fields. Unlike canonicalJson it takes fractions. */
export const contentKey = (value: unknown): string =>
  JSON.stringify(value, (_name, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

/** Characters of a compared value that count as one step. */
const CHARACTERS = 20;

/**
 * Replaces Ajv's `const`, `enum` and `uniqueItems`, which read `constructor`, `valueOf` and `toString` of a value: those may be its
 * own fields. Each comparison spends steps.
 */
export const compareContent = (
  ajv: Pick<Ajv, 'removeKeyword' | 'addKeyword'>,
  spend: (steps: number) => void,
): void => {
  const keyOf = (value: unknown): string => {
    const key = contentKey(value);
    spend(1 + key.length / CHARACTERS);
    return key;
  };
  for (const keyword of ['const', 'enum', 'uniqueItems']) ajv.removeKeyword(keyword);
  ajv.addKeyword({
    keyword: 'const',
    errors: false,
    compile: (wanted: unknown) => {
      const key = contentKey(wanted);
      return (value: unknown) => keyOf(value) === key;
    },
    error: {
      message: 'must be equal to constant',
      params: ({ schemaCode }) => _`{allowedValue: ${schemaCode}}`,
    },
  });
  ajv.addKeyword({
    keyword: 'enum',
    schemaType: 'array',
    errors: false,
    compile: (words: readonly unknown[]) => {
      const keys = new Set(words.map((word) => contentKey(word)));
      return (value: unknown) => keys.has(keyOf(value));
    },
    error: {
      message: 'must be equal to one of the allowed values',
      params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
    },
  });
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    compile: (isWanted: boolean) => (items: readonly unknown[]) =>
      !isWanted || new Set(items.map((item) => keyOf(item))).size === items.length,
    error: { message: 'must NOT have duplicate items' },
  });
};
