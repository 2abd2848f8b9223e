import { FleetError } from './errors.ts';
import { isKey, stringEnd } from './json-text.ts';
import { parseJson } from './parse-json.ts';

/** Caps on untrusted JSON (security design: "caps first"). Bytes, levels. */
export type JsonLimits = { readonly maxBytes: number; readonly maxDepth?: number };

// A byte order mark is kept, so that it is refused as JSON.parse refuses it: other readers would not skip it.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses JSON that a stranger may have written: size, depth, UTF-8 and duplicate keys are refused by name before
 * anything looks at the content.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP
 */
export const parseStrictJson = (bytes: Uint8Array, limits: JsonLimits, what = 'document'): unknown => {
  if (bytes.byteLength > limits.maxBytes) {
    throw new FleetError(
      'TOO_LARGE',
      `${what} has ${bytes.byteLength} bytes, at most ${limits.maxBytes} are read`,
    );
  }
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new FleetError('BAD_JSON', `${what} is not UTF-8`, { cause });
  }
  checkStructure(text, limits.maxDepth ?? 32, what);
  try {
    return parseJson(text);
  } catch (cause) {
    throw new FleetError('BAD_JSON', `${what} is not JSON: ${(cause as Error).message}`, { cause });
  }
};

/**
 * One pass over the text that looks only at brackets, strings and colons: JSON.parse would take the last of two equal
 * keys and recurse as deep as the text goes, and both let two readers see different documents.
 */
const checkStructure = (text: string, maxDepth: number, what: string): void => {
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : undefined);
      if (open.length > maxDepth)
        throw new FleetError('TOO_DEEP', `${what} nests deeper than ${maxDepth} levels`);
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '"') {
      const end = stringEnd(text, at);
      const keys = open.at(-1);
      if (keys && isKey(text, end)) addKey(keys, text.slice(at, end + 1), what);
      at = end;
    }
  }
};

const addKey = (keys: Set<string>, literal: string, what: string): void => {
  let key: string;
  try {
    key = JSON.parse(literal) as string;
  } catch (cause) {
    throw new FleetError('BAD_JSON', `${what} is not JSON: bad key ${literal.slice(0, 40)}`, { cause });
  }
  if (keys.has(key))
    throw new FleetError('BAD_JSON', `${what} has the key ${literal.slice(0, 40)} twice in one object`);
  keys.add(key);
};
