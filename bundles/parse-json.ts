import { isKey, stringEnd } from './json-text.ts';

/**
 * JSON.parse, and right about keys that are written with an escape. V8 since 12.8 takes such a key for `\` once it has
 * met an object of the same beginning with the key `\` (nodejs/node#63785): what one document says would change the next.
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown => {
  if (!text.includes('\\')) return JSON.parse(text);
  const { plain, keys } = withoutEscapedKeys(text);
  if (keys.size === 0) return JSON.parse(text);
  return JSON.parse(plain, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const entries = Object.entries(value);
    if (!entries.some(([key]) => keys.has(key))) return value;
    return Object.fromEntries(entries.map(([key, item]) => [keys.get(key) ?? key, item]));
  });
};

/** The same document with a name of ours in the place of each key that has an escape. @throws SyntaxError */
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

/** A text would have to be longer than memory to have all of the private use area in it. */
const unusedCharacter = (text: string): string => {
  let code = 0xe000;
  while (text.includes(String.fromCharCode(code)) && code < 0xf8ff) code++;
  return String.fromCharCode(code);
};
