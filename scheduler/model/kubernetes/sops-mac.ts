import type { ParsedDocument } from '../yaml/parse-documents.ts';

/** The MAC of a document that SOPS encrypted; undefined for any other document. */
export const sopsMac = ({ parsed }: { readonly parsed: ParsedDocument }): string | undefined => {
  const mac: unknown = parsed.document.getIn(['sops', 'mac']);
  return typeof mac === 'string' ? mac : undefined;
};
