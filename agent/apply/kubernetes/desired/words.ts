/** The comma-separated parts of an annotation, without empty ones. [] for a value that is not text. */
export const listIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
    : [];

/** The comma-separated words of an annotation, in lower case. */
export const words = (value: unknown): readonly string[] => listIn(value).map((word) => word.toLowerCase());

export const isWord = (value: unknown, pattern: RegExp): boolean =>
  words(value).some((word) => pattern.test(word));

/** The text of an annotation, also of one whose quotes are missing in the manifest: YAML reads `wave: 1` as a number. */
export const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
