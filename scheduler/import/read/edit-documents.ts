import { type Document, parseAllDocuments } from 'yaml';

/** The documents of a YAML file, to change and to write with their comments. A file with a mistake has none. */
export const documentsOf = (bytes: Buffer): readonly Document.Parsed[] => {
  const documents = parseAllDocuments(bytes.toString('utf8'), { prettyErrors: false, logLevel: 'error' });
  return Array.isArray(documents) && documents.every(({ errors }) => errors.length === 0) ? documents : [];
};

export const textOf = (documents: readonly Document.Parsed[]): Buffer =>
  Buffer.from(documents.map((one) => one.toString({ lineWidth: 0 })).join(''));
