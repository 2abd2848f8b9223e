import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import type { Place } from '#bundles/errors';
import { yamlFault } from '#bundles/json/yaml-fault';
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
  if (error === undefined) return { documents };
  const at = placeOf(error.pos[0], lineCounter, file);
  return { documents: [], mistake: { message: yamlFault(error.message), at } };
};

export const documentsOf = (bytes: Buffer): readonly Document.Parsed[] => readDocuments(bytes, '').documents;

export const textOf = (documents: readonly Document.Parsed[]): Buffer =>
  Buffer.from(documents.map((one) => one.toString({ lineWidth: 0 })).join(''));
