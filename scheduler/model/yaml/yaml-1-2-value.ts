import { isMap, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import type { FleetError } from '#bundles/errors';
import type { Value } from '../model.ts';
import { freeValue } from './free-value.ts';
import { BAD } from './shape.ts';

/** The value of a text that is one YAML 1.2 mapping or list; undefined for any other text, which then stays text. */
export const parseYaml12Collection = (text: string): Value | undefined => {
  try {
    const options = { intAsBigInt: true, prettyErrors: false, logLevel: 'silent' } as const;
    const documents = parseAllDocuments(text, options);
    const [document] = Array.isArray(documents) ? documents : [];
    if (!document || documents.length > 1 || document.errors.length > 0) return undefined;
    const root = document.contents;
    if (!isMap(root) && !isSeq(root)) return undefined;
    const problems: FleetError[] = [];
    const parsed = { root, document, text: { file: '', text, lines: new LineCounter() } };
    const value = freeValue(root, 'the value', { parsed, subject: '', problems });
    return value === BAD ? undefined : value;
  } catch {
    return undefined;
  }
};
