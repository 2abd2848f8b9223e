import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import type { Place } from '#bundles/errors';
import { keyText } from '../../model/plain-value.ts';
import { nestsTooDeep } from '../../model/yaml/nesting.ts';
import { typePlain } from '../../model/yaml/yaml-1-1-value.ts';

/** A key below a value's root, and its place. */
export type TextPlace = { readonly path: readonly string[]; readonly at: Place };

/** Longer texts are data, for which places are not needed. In UTF-16 units. */
const MAX_TEXT = 64 * 1024;

/**
 * Places of the keys of a mapping that is written as text in a file, and of nested mappings. Lists are left out, because
 * another layer may change the position of their items. Line n of the text is line `at.line + n - 1` of the file, with
 * columns shifted by `indent`.
 */
export const textPlaces = ({
  text,
  at,
  indent,
}: {
  readonly text: string;
  readonly at: Place;
  readonly indent: number;
}): readonly TextPlace[] => {
  if (text.length > MAX_TEXT || !/:(?:\s|$)/m.test(text) || nestsTooDeep(text)) return [];
  const lineCounter = new LineCounter();
  const { contents, errors } = parseDocument(text, {
    schema: 'failsafe',
    lineCounter,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  if (errors.some(({ code }) => code !== 'MULTIPLE_DOCS')) return [];
  const places: TextPlace[] = [];
  const placeOf = (node: { range?: readonly [number, number, number] | null | undefined }): Place => {
    const { line, col } = lineCounter.linePos(node.range?.[0] ?? 0);
    return { file: at.file, line: (at.line ?? 1) + line - 1, column: col + indent };
  };
  const visit = (node: unknown, path: readonly string[]): void => {
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue;
      const inside = [
        ...path,
        key.type === 'PLAIN' ? keyText(typePlain(String(key.value))) : String(key.value),
      ];
      places.push({ path: inside, at: placeOf(key) });
      visit(value, inside);
    }
  };
  visit(contents, []);
  return places;
};
