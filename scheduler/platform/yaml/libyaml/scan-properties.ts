import {
  fail,
  isBlank,
  isBlankOrEnd,
  isBreakOrEnd,
  peek,
  readBreak,
  readOne,
  type Scanner,
  skipBlanks,
  skipComment,
  type Token,
} from './scanner.ts';

/** Anchors, aliases, tags and directives. */

const readWhile = (scanner: Scanner, test: RegExp): string => {
  let text = '';
  while (test.test(peek(scanner))) text += readOne(scanner);
  return text;
};

const WORD = /^[0-9A-Za-z_-]$/;

export const readAnchor = (scanner: Scanner): Token => {
  const type = readOne(scanner) === '*' ? 'alias' : 'anchor';
  const value = readWhile(scanner, WORD);
  const next = peek(scanner);
  if (value === '' || !(isBlankOrEnd(next) || '?:,]}%@`'.includes(next)))
    fail('did not find expected alphabetic or numeric character');
  return { type, value };
};

export const readTag = (scanner: Scanner): Token => {
  let handle = '';
  let suffix: string;
  if (peek(scanner, 1) === '<') {
    scanner.at += 2;
    suffix = readUri(scanner, '');
    if (readOne(scanner) !== '>') fail("did not find the expected '>'");
  } else {
    handle = readHandle(scanner, false);
    if (handle.length > 1 && handle.endsWith('!')) suffix = readUri(scanner, '');
    else {
      suffix = readUri(scanner, handle);
      handle = '!';
      // `!` alone.
      if (suffix === '') [handle, suffix] = [suffix, handle];
    }
  }
  if (!isBlankOrEnd(peek(scanner))) fail('did not find expected whitespace or line break');
  return { type: 'tag', handle, suffix };
};

const readHandle = (scanner: Scanner, isDirective: boolean): string => {
  if (peek(scanner) !== '!') fail("did not find expected '!'");
  const handle = readOne(scanner) + readWhile(scanner, WORD);
  if (peek(scanner) === '!') return handle + readOne(scanner);
  if (isDirective && handle !== '!') fail("did not find expected '!'");
  return handle;
};

const URI = /^[0-9A-Za-z_\-;/?:@&=+$,.!~*'()[\]%]$/;

const readUri = (scanner: Scanner, head: string): string => {
  const written = readWhile(scanner, URI);
  if (head === '' && written === '') fail('did not find expected tag URI');
  if (/%(?![0-9A-Fa-f]{2})/.test(written)) fail('did not find URI escaped octet');
  try {
    return (
      head.slice(1) + written.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, (octets) => decodeURIComponent(octets))
    );
  } catch {
    return fail('found an incorrect UTF-8 octet');
  }
};

export const readDirective = (scanner: Scanner): Token => {
  scanner.at += 1;
  const name = readWhile(scanner, WORD);
  if (name === '' || !isBlankOrEnd(peek(scanner))) fail('could not find expected directive name');
  let token: Token;
  skipBlanks(scanner);
  if (name === 'YAML') token = { type: 'version', value: readVersion(scanner) };
  else if (name === 'TAG') {
    const handle = readHandle(scanner, true);
    if (!isBlank(peek(scanner))) fail('did not find expected whitespace');
    skipBlanks(scanner);
    token = { type: 'tag-directive', handle, suffix: readUri(scanner, '') };
    if (!isBlankOrEnd(peek(scanner))) fail('did not find expected whitespace or line break');
  } else return fail('found unknown directive name');
  skipBlanks(scanner);
  skipComment(scanner);
  if (!isBreakOrEnd(peek(scanner))) fail('did not find expected comment or line break');
  readBreak(scanner);
  return token;
};

const readVersion = (scanner: Scanner): string => {
  const major = readWhile(scanner, /^[0-9]$/);
  const point = readOne(scanner);
  const minor = readWhile(scanner, /^[0-9]$/);
  if (point !== '.' || !/^\d{1,2}$/.test(major) || !/^\d{1,2}$/.test(minor)) fail('no version');
  return `${Number(major)}.${Number(minor)}`;
};
