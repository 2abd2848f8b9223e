import { plainLine } from '#bundles/errors';

const COLUMNS = 80;

/** A line in 80 columns, broken at spaces; further lines are indented by four more. Control characters are shown as escapes. */
export const wrapLine = (text: string, indent = ''): readonly string[] => {
  const lines: string[] = [];
  let line = indent;
  let isEmpty = true;
  for (const word of plainLine(text).split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = `${indent}    ${word}`;
    } else {
      line = isEmpty ? `${line}${word}` : `${line} ${word}`;
    }
    isEmpty = false;
  }
  return [...lines, line].map((one) => one.trimEnd());
};
