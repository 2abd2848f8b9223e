import { scanBlock, scanPlain, scanQuoted } from './scan-scalars.ts';
import { readAnchor, readDirective, readTag } from './scan-properties.ts';
import {
  closeFlow,
  column,
  fail,
  isBlank,
  isBlankOrEnd,
  isBreak,
  isDocumentMark,
  isEnd,
  isValidKey,
  lastKey,
  openFlow,
  peek,
  put,
  readBreak,
  removeKey,
  rollIndent,
  saveKey,
  type Scanner,
  skipComment,
  type Token,
  unrollIndent,
} from './scanner.ts';

/** The next token, which stays the next one until it is taken. Tokens are read only as far as that needs. @throws YamlFault */
export const nextToken = (scanner: Scanner): Token => {
  for (;;) {
    const [first] = scanner.tokens;
    const key = scanner.keyOfToken.get(scanner.taken);
    // Whether it is a key shows only later.
    if (first && (key === undefined || !isValidKey(scanner, scanner.keys[key] ?? lastKey(scanner))))
      return first;
    fetchToken(scanner);
  }
};

export const takeToken = (scanner: Scanner): void => {
  scanner.tokens.shift();
  scanner.taken += 1;
};

const skipToToken = (scanner: Scanner): void => {
  for (;;) {
    while (peek(scanner) === ' ' || ((scanner.flow > 0 || !scanner.mayBeKey) && peek(scanner) === '\t'))
      scanner.at += 1;
    skipComment(scanner);
    if (!isBreak(peek(scanner))) return;
    readBreak(scanner);
    if (scanner.flow === 0) scanner.mayBeKey = true;
  }
};

const fetchToken = (scanner: Scanner): void => {
  skipToToken(scanner);
  unrollIndent(scanner, column(scanner));
  const character = peek(scanner);
  const isIndicator = isBlankOrEnd(peek(scanner, 1));
  const inFlow = scanner.flow > 0;
  if (isEnd(scanner)) {
    // The end of the text is the end of its line, too: no key goes past it.
    if (column(scanner) !== 0) {
      scanner.line += 1;
      scanner.lineStart = scanner.at;
    }
    endBlocks(scanner);
    put(scanner, { type: 'stream-end' });
  } else if (column(scanner) === 0 && character === '%') {
    endBlocks(scanner);
    put(scanner, readDirective(scanner));
  } else if (isDocumentMark(scanner)) {
    endBlocks(scanner);
    scanner.at += 3;
    put(scanner, { type: character === '-' ? 'document-start' : 'document-end' });
  } else if (character === '[' || character === '{') {
    saveKey(scanner);
    openFlow(scanner);
    scanner.mayBeKey = true;
    putIndicator(scanner, character);
  } else if (character === ']' || character === '}') {
    removeKey(scanner);
    closeFlow(scanner);
    scanner.mayBeKey = false;
    putIndicator(scanner, character);
  } else if (character === ',') {
    removeKey(scanner);
    scanner.mayBeKey = true;
    putIndicator(scanner, character);
  } else if (character === '-' && isIndicator) fetchEntry(scanner);
  else if (character === '?' && (inFlow || isIndicator)) fetchKey(scanner);
  else if (character === ':' && (inFlow || isIndicator)) fetchValue(scanner);
  else if (character === '*' || character === '&' || character === '!') {
    saveKey(scanner);
    scanner.mayBeKey = false;
    put(scanner, character === '!' ? readTag(scanner) : readAnchor(scanner));
  } else if ((character === '|' || character === '>') && !inFlow) {
    removeKey(scanner);
    scanner.mayBeKey = true;
    put(scanner, scanBlock(scanner, character === '|'));
  } else if (character === "'" || character === '"')
    fetchScalar(scanner, () => scanQuoted(scanner, character));
  else if (startsPlain(scanner)) fetchScalar(scanner, () => scanPlain(scanner));
  else fail('found character that cannot start any token');
};

const endBlocks = (scanner: Scanner): void => {
  unrollIndent(scanner, -1);
  removeKey(scanner);
  scanner.mayBeKey = false;
};

const putIndicator = (scanner: Scanner, type: Token['type']): void => {
  scanner.at += 1;
  put(scanner, { type });
};

const fetchScalar = (scanner: Scanner, scan: () => Token): void => {
  saveKey(scanner);
  scanner.mayBeKey = false;
  put(scanner, scan());
};

const startsPlain = (scanner: Scanner): boolean => {
  const [character, next] = [peek(scanner), peek(scanner, 1)];
  if (character === '-') return !isBlank(next);
  if (character === '?' || character === ':') return scanner.flow === 0 && !isBlankOrEnd(next);
  return !isBlankOrEnd(character) && !',[]{}#&*!|>\'"%@`'.includes(character);
};

const fetchEntry = (scanner: Scanner): void => {
  if (scanner.flow === 0) {
    if (!scanner.mayBeKey) fail('block sequence entries are not allowed in this context');
    rollIndent(scanner, column(scanner), 'block-sequence');
  }
  removeKey(scanner);
  scanner.mayBeKey = true;
  putIndicator(scanner, '-');
};

const fetchKey = (scanner: Scanner): void => {
  if (scanner.flow === 0) {
    if (!scanner.mayBeKey) fail('mapping keys are not allowed in this context');
    rollIndent(scanner, column(scanner), 'block-mapping');
  }
  removeKey(scanner);
  scanner.mayBeKey = scanner.flow === 0;
  putIndicator(scanner, 'key');
};

const fetchValue = (scanner: Scanner): void => {
  const key = lastKey(scanner);
  if (isValidKey(scanner, key)) {
    put(scanner, { type: 'key' }, key.token - scanner.taken);
    rollIndent(scanner, key.column, 'block-mapping', key.token);
    key.possible = false;
    scanner.keyOfToken.delete(key.token);
    scanner.mayBeKey = false;
  } else {
    if (scanner.flow === 0) {
      if (!scanner.mayBeKey) fail('mapping values are not allowed in this context');
      rollIndent(scanner, column(scanner), 'block-mapping');
    }
    scanner.mayBeKey = scanner.flow === 0;
  }
  putIndicator(scanner, 'value');
};
