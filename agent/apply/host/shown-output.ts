import { stripVTControlCharacters } from 'node:util';
import { plainText } from '#bundles/errors';

/** Output of a program that is kept for people, in bytes. */
export const MAX_OUTPUT = 4 << 10;

/** Removes colours and escapes other invisible characters. */
export const shownOutput = (text: string): string =>
  plainText(stripVTControlCharacters(text).replaceAll('\r\n', '\n')).trim();

/** The first 4 KiB in whole characters. */
export const firstOf = (text: string): string =>
  Buffer.from(text)
    .subarray(0, MAX_OUTPUT)
    .toString('utf8')
    .replace(/\uFFFD$/, '');

/** The last 4 KiB in whole lines, or in whole characters of a longer line; '' for a text that `firstOf` has whole. */
export const lastOf = (text: string): string => {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= MAX_OUTPUT) return '';
  const end = bytes
    .subarray(-MAX_OUTPUT)
    .toString('utf8')
    .replace(/^\uFFFD+/, '');
  return end.slice(end.indexOf('\n') + 1) || end;
};
