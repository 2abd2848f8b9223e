import { stripVTControlCharacters } from 'node:util';
import { plainText } from '#bundles/errors';
import { redact } from './redact.ts';
import { redactShapes } from './redact-shapes.ts';

/**
 * A text of others as people may read it and as it may leave this machine: without escape sequences of terminals, other invisible
 * characters escaped, and without secrets, the known ones and those that their form gives away.
 * @param known as of secretForms
 */
export const shownText = (text: string, known: readonly string[]): string => {
  const plain = stripVTControlCharacters(text).replaceAll('\r\n', '\n');
  return plainText(redactShapes(redact(plain, known, plain.length)));
};
