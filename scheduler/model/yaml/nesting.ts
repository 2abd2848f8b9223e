import { isMap, isPair, isSeq, Lexer } from 'yaml';

/** Maximum nesting depth. The parser recurses for each level, and is slow long before the stack overflows. */
export const MAX_DEPTH = 200;

/** With fewer brackets the text is not scanned; most files have few. */
const MAX_UNSCANNED = 1000;

/** Whether a text nests deeper than MAX_DEPTH, without parsing it, in time linear in its length. */
export const nestsTooDeep = (text: string): boolean => {
  // '- - - -' and '? ? ?': nested lists on one line.
  if (COMPACT.test(text)) return true;
  if (countBrackets(text) <= MAX_UNSCANNED) return false;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
};

/** Whether a parsed node nests deeper than MAX_DEPTH. The parser's stack takes more or less than that, by what ran before it. */
export const isTooDeep = (node: unknown, left = MAX_DEPTH): boolean => {
  if (isPair(node)) return isTooDeep(node.key, left) || isTooDeep(node.value, left);
  if (!isMap(node) && !isSeq(node)) return false;
  return left === 0 || node.items.some((item) => isTooDeep(item, left - 1));
};

const COMPACT = new RegExp(`(?:[-?] +){${MAX_DEPTH}}`);

const countBrackets = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at + 1)) count += 1;
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) count += 1;
  return count;
};
