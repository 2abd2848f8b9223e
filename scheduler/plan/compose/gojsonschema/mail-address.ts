import { isIP } from 'node:net';

/** Without control characters, spaces and specials (RFC 5322, section 3.2.3). */
const ATEXT = String.raw`[^\0-\x20\x7f()<>[\]:;@\\,"]`;
const DOT_ATOM = String.raw`(?!\.|${ATEXT}*\.\.)${ATEXT}+(?<!\.)(?!${ATEXT})`;
const QUOTED_CHARACTER = String.raw`(?:\\[^\0-\x08\n-\x1f\x7f]|[^\0-\x08\n-\x1f\x7f"\\])`;

const SPACE = /[ \t]*/y;
const WORD = new RegExp(`"${QUOTED_CHARACTER}*"|${ATEXT}+`, 'y');
const LOCAL = `(?:"${QUOTED_CHARACTER}+"|${DOT_ATOM})`;
const SPEC = new RegExp(String.raw`[ \t]*${LOCAL}@[ \t]*(?:\[(?<literal>[^\]]*)\]|${DOT_ATOM})`, 'y');

/** The verdict of Go's net/mail.ParseAddress: one address, as `a@b.example` or `Name <a@b.example>`, or a group of one address. */
export const isMailAddress = (text: string): boolean => {
  let at = 0;

  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text) ?? undefined;
  };
  const take = (pattern: RegExp): string | undefined => {
    const found = match(pattern)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const consume = (character: string): boolean => {
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };

  const takeSpec = (): boolean => {
    const found = match(SPEC);
    const literal = found?.groups?.['literal'];
    if (!found || (literal !== undefined && (isIP(literal) === 0 || literal.includes('%')))) return false;
    at += found[0].length;
    return true;
  };

  /** Takes the rest of a comment, up to the bracket that closes it, and returns its text. */
  const takeComment = (): string | undefined => {
    let comment = '';
    for (let depth = 1; at < text.length; at += 1) {
      if (text[at] === '\\' && at + 1 < text.length) at += 1;
      else if (text[at] === '(') depth += 1;
      else if (text[at] === ')') depth -= 1;
      if (depth === 0) {
        at += 1;
        return comment;
      }
      comment += text[at];
    }
    return undefined;
  };
  const skipComments = (): boolean => {
    take(SPACE);
    while (consume('(')) {
      if (takeComment() === undefined) return false;
      take(SPACE);
    }
    return true;
  };

  /** The words of a display name. A mistake after the first word ends the name. */
  const takePhrase = (): boolean => {
    let words = 0;
    // Adjacent encoded words are one word, which counts when it ends.
    let encoded = false;
    for (;;) {
      if (words > 0 && !skipComments()) return false;
      take(SPACE);
      if (at === text.length) return true;
      const word = take(WORD);
      const kind = word === undefined ? 'foreign' : encodingOf(word);
      if (kind === 'foreign') return words > 0 || encoded;
      if (kind === 'known') encoded ||= !word?.endsWith('???=');
      else words += 1;
    }
  };

  /** Takes an address or a group, and returns its number of addresses; undefined where there is neither. */
  const takeAddress = (mayBeGroup: boolean): number | undefined => {
    take(SPACE);
    if (takeSpec()) {
      take(SPACE);
      // A comment after an address is a display name: Go has to know the character sets of its words.
      const isNamed = consume('(');
      const words = isNamed ? takeComment()?.split(/[ \t]/) : [];
      return words?.every((word) => encodingOf(word) !== 'foreign') === true ? 1 : undefined;
    }
    if (at === text.length || (text[at] !== '<' && !takePhrase())) return undefined;
    take(SPACE);
    if (mayBeGroup && consume(':')) return takeGroup();
    return consume('<') && takeSpec() && consume('>') ? 1 : undefined;
  };
  const takeGroup = (): number | undefined => {
    take(SPACE);
    let count = 0;
    if (text[at] !== ';')
      do {
        const found = takeAddress(false);
        if (found === undefined || !skipComments()) return undefined;
        count += found;
      } while (consume(','));
    return consume(';') && skipComments() ? count : undefined;
  };

  return takeAddress(true) === 1 && skipComments() && at === text.length;
};

const ENCODED_WORD = /^=\?([^?]+)\?(?:[Bb]\?([^?]*)|[Qq]\?([^?]*))\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const QUOTED_PRINTABLE = /^(?:[ -<>-~\n\r\t]|=[0-9A-Fa-f]{2})*$/;

/** Whether an encoded word (RFC 2047) has a character set that Go knows. All other words are plain. */
const encodingOf = (word: string): 'plain' | 'known' | 'foreign' => {
  const [, charset = '', base64, quoted = ''] = ENCODED_WORD.exec(word) ?? [];
  const decodes = base64 === undefined ? QUOTED_PRINTABLE.test(quoted) : BASE64.test(base64);
  if (charset === '' || word.length < 8 || !decodes) return 'plain';
  return /^(?:utf-8|iso-8859-1|us-ascii)$/i.test(charset) ? 'known' : 'foreign';
};
