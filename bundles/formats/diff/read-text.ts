import { type Document, parseAllDocuments, visit } from 'yaml';

/** Limit of a text with aliases, in characters: output repeats the value of an alias up to a hundred times. */
const MAX_ALIASED = 256 << 10;

/** Values of all documents of a YAML or JSON text; undefined for other text, and when aliases exceed the limits. */
export const parseText = (text: string): readonly unknown[] | undefined => {
  try {
    const documents = parseAllDocuments(text, { uniqueKeys: false, intAsBigInt: true, logLevel: 'silent' });
    if (text.length > MAX_ALIASED && documents.some(hasAlias)) return undefined;
    const values: unknown[] = [];
    for (const document of documents) {
      if (document.errors.length > 0) return undefined;
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      // Prose and scripts can parse as one long scalar.
      if (typeof value === 'string') return undefined;
      if (value !== null) values.push(value);
    }
    return values;
  } catch {
    // Too many aliases.
    return undefined;
  }
};

const hasAlias = (document: Document): boolean => {
  let found = false;
  visit(document, {
    Alias: () => {
      found = true;
      return visit.BREAK;
    },
  });
  return found;
};

const KIND = /kind["'\\]*\s*:|\?\s+["']?kind|secretGenerator/i;

/** Whether a text contains a kind and "secret", with any quotes and escapes. Only such text needs to be parsed or hidden. */
export const mayHoldSecret = (text: string): boolean => {
  const plain = text.includes('\\') ? unescaped(text) : text;
  return /secret/i.test(plain) && KIND.test(plain);
};

/** Resolves escapes as YAML and JSON do in double quotes. */
const unescaped = (text: string): string =>
  text
    .replaceAll(/\\\r?\n[ \t]*/g, '')
    .replaceAll(
      /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))/gi,
      (escape, two?: string, four?: string, eight?: string) => {
        const code = Number.parseInt(two ?? four ?? eight ?? '', 16);
        return code <= 0x10_ff_ff ? String.fromCodePoint(code) : escape;
      },
    );
