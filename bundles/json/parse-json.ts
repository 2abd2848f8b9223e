import { isRecord } from '../is-record.ts';

/**
 * JSON.parse with a workaround for keys that have an escape: since 12.8 V8 reads such a key as `\` after it has parsed an
 * object with the same first keys and the key `\` (nodejs/node#63785), so that one document would change the next.
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown => {
  if (!text.includes('\\')) return JSON.parse(text);
  const { plain, keys } = withoutEscapedKeys(text);
  if (keys.size === 0) return JSON.parse(text);
  return JSON.parse(plain, (_key, value: unknown) => {
    if (!isRecord(value)) return value;
    const entries = Object.entries(value);
    if (!entries.some(([key]) => keys.has(key))) return value;
    return Object.fromEntries(entries.map(([key, item]) => [keys.get(key) ?? key, item]));
  });
};

/** Replaces each key that has an escape by a generated name. @throws SyntaxError */
const withoutEscapedKeys = (
  text: string,
): { readonly plain: string; readonly keys: ReadonlyMap<string, string> } => {
  const keys = new Map<string, string>();
  const mark = unusedCharacter(text);
  let plain = '';
  let copied = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const end = stringEnd(text, at) + 1;
    if (isKey(text, end - 1) && text.slice(at, end).includes('\\')) {
      const name = `${mark}${keys.size}`;
      keys.set(name, JSON.parse(text.slice(at, end)) as string);
      plain += `${text.slice(copied, at)}"${name}"`;
      copied = end;
    }
    at = end;
  }
  return { plain: plain + text.slice(copied), keys };
};

/** Returns the index of the closing quote of the string that begins at `start`, or the length of the text. */
const stringEnd = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
};

/** Whether the string that ends at `end` is a key. */
const isKey = (text: string, end: number): boolean => {
  let at = end + 1;
  while (at < text.length && ' \t\r\n'.includes(text[at] as string)) at++;
  return text[at] === ':';
};

/** Returns a character of the private use area that is not in the text. */
const unusedCharacter = (text: string): string => {
  let code = 0xe000;
  while (text.includes(String.fromCharCode(code)) && code < 0xf8ff) code++;
  return String.fromCharCode(code);
};
