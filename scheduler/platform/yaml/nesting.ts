import { Lexer } from 'yaml';

/** Levels of nesting that are read. The parser calls itself for each, and is slow long before it cannot any more. */
export const MAX_DEPTH = 200;

/** Few brackets cannot nest deep, and most files have few. */
const FEW = 1000;

/** Does a text nest deeper than anybody writes? Told without parsing it, in time that grows with its length. */
export const nestsTooDeep = (text: string): boolean => {
  // '- - - -' and '? ? ?': lists in lists on one line.
  if (COMPACT.test(text)) return true;
  if (countBrackets(text) <= FEW) return false;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
};

const COMPACT = new RegExp(`(?:[-?] +){${MAX_DEPTH}}`);

const countBrackets = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at + 1)) count += 1;
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) count += 1;
  return count;
};
