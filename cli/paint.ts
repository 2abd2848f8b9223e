import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Styles of lines by their look. The first pattern that matches is used. */
const LINES: readonly (readonly [RegExp, Style])[] = [
  [/^ *! /, 'red'],
  [/^(Note|NOTE|WARNING|DEV ROOT|advice)\b/, 'yellow'],
  // The headings of a table.
  [/^ *[A-Z][A-Z/-]*( {2,}[A-Z][A-Z/ -]*)+$/, 'bold'],
];

/** The code of an error: 'fleet-agent: a.yaml:1:2: SCHEMA: ...'. */
const CODE = /^(fleet-[a-z]+: (?:\S+:\d+:\d+: )?)([A-Z][A-Z_]+)(?=: )/;

/**
 * The lines of a text with colours where the stream is a terminal and NO_COLOR is not set. Nothing is said by a colour alone.
 * @param text already without control characters of others
 */
export const paint = (text: string, stream: NodeJS.WritableStream): string =>
  text
    .split('\n')
    .map((line) => {
      const style = LINES.find(([pattern]) => pattern.test(line))?.[1];
      if (style !== undefined) return styleText(style, line, { stream });
      return line.replace(
        CODE,
        (_, before: string, code: string) => before + styleText(['bold', 'red'], code, { stream }),
      );
    })
    .join('\n');
