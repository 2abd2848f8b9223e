import { Document, isScalar, parseDocument, type Scalar, visit } from 'yaml';
import { yamlNumber } from '#bundles/json/yaml-numbers';

/** A parsed object: JSON values only. */
export type ObjectValue = { readonly [key: string]: unknown };

/**
 * The text of a new object. Keys keep their order, texts of several lines become literal blocks, and a text that YAML 1.1 or 1.2
 * would read as another type is quoted: Flux and kubectl read YAML 1.1, the scheduler reads 1.2.
 */
export const writeObject = (value: ObjectValue): string => {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, { Scalar: (_, scalar) => quoteAmbiguous(scalar) });
  return document.toString({ lineWidth: 0 });
};

/** Quotes a text that is written plain and would be read as a number, boolean, date or null. */
export const quoteAmbiguous = (scalar: Scalar): void => {
  const { value } = scalar;
  if (typeof value !== 'string' || value.includes('\n') || !isAmbiguous(value)) return;
  scalar.type = 'QUOTE_DOUBLE';
};

/** Words of YAML 1.1 that 1.2 reads as text. */
const isAmbiguous = (text: string): boolean =>
  /^[-+.0-9~]|^(?:y|n|yes|no|on|off|true|false|null)$/i.test(text) &&
  (yamlNumber(text) !== undefined ||
    (['1.1', '1.2'] as const).some((version) => {
      const { contents, errors } = parseDocument(text, { version, logLevel: 'silent' });
      return errors.length === 0 && isScalar(contents) && typeof contents.value !== 'string';
    }));
