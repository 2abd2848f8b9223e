import { isDeepStrictEqual } from 'node:util';
import { insist } from './target.ts';

/**
 * JSON (RFC 8259) read the plainest way, without the engine's own reader: what that misreads, this does not. For texts that were
 * found to be JSON before; of anything else it makes whatever it makes.
 */
const readPlainJson = (text: string): unknown => {
  let at = 0;
  const space = (): void => {
    while (' \t\r\n'.includes(text[at] ?? 'x')) at += 1;
  };
  const string = (): string => {
    let out = '';
    for (at += 1; at < text.length && text[at] !== '"'; at += 1) {
      if (text[at] !== '\\') out += text[at];
      else {
        at += 1;
        const letter = text[at] ?? '';
        if (letter === 'u') {
          out += String.fromCharCode(Number.parseInt(text.slice(at + 1, at + 5), 16));
          at += 4;
        } else out += ESCAPES[letter] ?? letter;
      }
    }
    at += 1;
    return out;
  };
  const list = (close: string, item: () => void): void => {
    for (at += 1, space(); at < text.length && text[at] !== close; space()) {
      item();
      space();
      if (text[at] === ',') at += 1;
    }
    at += 1;
  };
  const value = (): unknown => {
    space();
    if (text[at] === '"') return string();
    if (text[at] === '[') {
      const items: unknown[] = [];
      list(']', () => items.push(value()));
      return items;
    }
    if (text[at] === '{') {
      const entries: (readonly [string, unknown])[] = [];
      list('}', () => {
        const key = string();
        space();
        at += 1;
        entries.push([key, value()]);
      });
      return Object.fromEntries(entries);
    }
    const word = /[^\s,\]}]+/y;
    word.lastIndex = at;
    const [literal = ''] = word.exec(text) ?? [];
    at += Math.max(1, literal.length);
    return literal in WORDS ? WORDS[literal] : Number(literal);
  };
  return value();
};

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const WORDS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

/**
 * Has the engine's reader meet the objects of a text with the key \ where the text has one with an escape: what it remembers of
 * them must not change what is read next (nodejs/node#63785).
 */
const poison = (text: string): void => {
  try {
    JSON.parse(
      text.replaceAll(/"(?:[^"\\]|\\.)*"(?=\s*:)/g, (key) => (key.includes('\\') ? String.raw`"\\"` : key)),
    );
  } catch {
    // What is not JSON is remembered by nobody.
  }
};

/** What a reader makes of a text is what stands there, whatever the engine has met before. */
export const agreeOnJson = (input: Buffer, read: (input: Buffer) => unknown): void => {
  const text = input.toString();
  poison(text);
  const value = read(input);
  insist(isDeepStrictEqual(value, readPlainJson(text)), 'another parser reads something else');
};
