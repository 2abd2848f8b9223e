import { isMap, isScalar, isSeq } from 'yaml';
import type { Place } from '#bundles/errors';
import { placeAt } from './parse-documents.ts';
import { BAD, kindOf, placeIn, refuse, type Shape, shape, text } from './shape.ts';

/**
 * A text and its place: line n of the text is line `at.line + n - 1` of the file, with columns shifted by `indent`. That
 * holds for literal blocks; for quoted and folded text only the start is exact.
 */
export const blockText: Shape<{
  readonly text: string;
  readonly at: Place;
  readonly indent: number;
}> = shape(
  () => text.schema,
  (node, path, reading) => {
    if (isMap(node) || isSeq(node))
      return refuse(
        reading,
        node,
        `${path} must be text, not ${kindOf(node)}`,
        'Write it as text: begin the entry with "- |" and indent what follows',
      );
    const value = text(node, path, reading);
    if (value === BAD) return BAD;
    const begins = placeIn(reading, node);
    if (!isScalar(node) || !node.range || node.type === 'PLAIN')
      return { text: value, at: begins, indent: 0 };
    const source = reading.parsed.text;
    if (node.type !== 'BLOCK_LITERAL' && node.type !== 'BLOCK_FOLDED')
      return { text: value, at: placeAt(source, node.range[0] + 1), indent: 0 };
    const header = source.text.indexOf('\n', node.range[0]);
    const line = source.lines.linePos(node.range[0]).line + 1;
    const raw =
      source.text
        .slice(header + 1, node.range[1])
        .split('\n')
        .find(isInked) ?? '';
    const indent = margin(raw) - margin(value.split('\n').find(isInked) ?? '');
    return { text: value, at: { file: source.file, line, column: indent + 1 }, indent };
  },
);

const isInked = (line: string): boolean => line.trim() !== '';
const margin = (line: string): number => line.length - line.trimStart().length;
