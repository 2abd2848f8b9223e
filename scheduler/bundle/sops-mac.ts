import type { ParsedDocument } from '../platform/yaml/parse-documents.ts';

/** The check sum of a document that SOPS encrypted; undefined: it is none. */
export const sopsMac = ({ parsed }: { readonly parsed: ParsedDocument }): string | undefined => {
  const mac: unknown = parsed.document.getIn(['sops', 'mac']);
  return typeof mac === 'string' ? mac : undefined;
};
