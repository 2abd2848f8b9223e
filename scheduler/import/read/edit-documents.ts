import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import type { Place } from '#bundles/errors';
import { placeOf } from './parse-text.ts';

export type EditableDocuments = {
  /** Empty for a file with a mistake. */
  readonly documents: readonly Document.Parsed[];
  readonly mistake?: YamlMistake;
};

export type YamlMistake = { readonly message: string; readonly at: Place };

/** The documents of a YAML file, to change and to write with their comments. */
export const readDocuments = (bytes: Buffer, file: string): EditableDocuments => {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(bytes.toString('utf8'), {
    lineCounter,
    prettyErrors: false,
    logLevel: 'error',
  });
  if (!Array.isArray(documents)) return { documents: [] };
  const [error] = documents.flatMap(({ errors }) => errors);
  return error === undefined
    ? { documents }
    : { documents: [], mistake: { message: error.message, at: placeOf(error, lineCounter, file) } };
};

export const documentsOf = (bytes: Buffer): readonly Document.Parsed[] => readDocuments(bytes, '').documents;

export const textOf = (documents: readonly Document.Parsed[]): Buffer =>
  Buffer.from(documents.map((one) => one.toString({ lineWidth: 0 })).join(''));
