/** The comma-separated words of an annotation, in lower case. */
export const words = (value: unknown): readonly string[] =>
  typeof value === 'string' ? value.split(',').map((word) => word.trim().toLowerCase()) : [];

export const isWord = (value: unknown, pattern: RegExp): boolean =>
  words(value).some((word) => pattern.test(word));
