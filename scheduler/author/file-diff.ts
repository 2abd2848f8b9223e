import { compareItems } from '#bundles/formats/diff/compare-items';
import { plainLine } from '#bundles/errors';
import type { EditedFile } from '../deliver/kalypso/promote-base.ts';

/** A unified diff of one file, with the values of Secrets masked. */
export const fileDiff = ({ path, was, bytes }: EditedFile): string => {
  const item = (text: Buffer) => ({ key: path, file: path, object: undefined, text: text.toString() });
  const compared = compareItems(was && item(was), item(bytes));
  if (!compared) return '';
  const before = was ? `a/${path}` : '/dev/null';
  return `--- ${plainLine(before)}\n+++ ${plainLine(`b/${path}`)}\n${compared.diff}`;
};
