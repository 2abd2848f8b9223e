import { type Document, parseAllDocuments, visit } from 'yaml';

/** What is shown repeats everything that an alias stands for, up to a hundred times. */
const MAX_ALIASED = 256 << 10;

/** Values of all documents of a YAML or JSON text; undefined for a text that is neither, or repeats far too much. */
export const parseText = (text: string): readonly unknown[] | undefined => {
  try {
    const documents = parseAllDocuments(text, { uniqueKeys: false, intAsBigInt: true, logLevel: 'silent' });
    if (text.length > MAX_ALIASED && documents.some(hasAlias)) return undefined;
    const values: unknown[] = [];
    for (const document of documents) {
      if (document.errors.length > 0) return undefined;
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      // Prose and scripts may be one long scalar: what it says is not read by that.
      if (typeof value === 'string') return undefined;
      if (value !== null) values.push(value);
    }
    return values;
  } catch {
    // Aliases without end.
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

/** Does a text name a kind and a Secret, in whatever quotes and escapes? Only such a text is worth to be parsed, or left out. */
export const mayHoldSecret = (text: string): boolean => {
  const plain = text.includes('\\') ? unescaped(text) : text;
  return /secret/i.test(plain) && KIND.test(plain);
};

/** As YAML and JSON read a text in double quotes. */
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
