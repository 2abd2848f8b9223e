import type { Json } from '#bundles/json/canonical';
import { FleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';

const MAX_BYTES = 8 << 20;

/** JSON.parse source text access (ES2025), not yet in the compiler's library types. */
type Raw = {
  readonly rawJSON: (text: string) => unknown;
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source: string }) => unknown,
  ) => unknown;
};
const raw = JSON as unknown as Raw;

/**
 * Sets the field at a JSON pointer (RFC 6901), whose parent must exist. Other numbers keep their text (1.0, twenty digits). The
 * result is indented by two spaces and ends with a line feed.
 * @throws FleetError SITE_VALUES, TOO_LARGE, BAD_JSON, TOO_DEEP
 */
export const setJson = (bytes: Buffer, pointer: string, value: Json, what: string): Buffer => {
  parseStrictJson(bytes, { maxBytes: MAX_BYTES, maxDepth: 64 }, what);
  const document = raw.parse(bytes.toString('utf8'), (_key, item, { source }) =>
    typeof item === 'number' && String(item) !== source ? raw.rawJSON(source) : item,
  );
  const tokens = parsePointer(pointer, what);
  const last = tokens.at(-1) as string;
  const parent = tokens.slice(0, -1).reduce((node, token) => {
    const next = child(node, token);
    if (next === undefined) throw noField(what, pointer);
    return next;
  }, document);
  if (Array.isArray(parent)) {
    if (!isIndex(last, parent.length)) throw noField(what, pointer);
    parent[Number(last)] = value;
  } else if (isObject(parent)) {
    // defineProperty and not an assignment, because '__proto__' is an ordinary key in JSON.
    Object.defineProperty(parent, last, { value, enumerable: true, writable: true, configurable: true });
  } else throw noField(what, pointer);
  return Buffer.from(`${JSON.stringify(document, null, 2)}\n`);
};

const parsePointer = (pointer: string, what: string): readonly string[] => {
  if (!pointer.startsWith('/')) throw noField(what, pointer);
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
};

const child = (node: unknown, token: string): unknown => {
  if (Array.isArray(node)) return isIndex(token, node.length) ? node[Number(token)] : undefined;
  return isObject(node) && Object.hasOwn(node, token) ? node[token] : undefined;
};

const isIndex = (token: string, length: number): boolean =>
  /^(0|[1-9]\d{0,8})$/.test(token) && Number(token) < length;

const isObject = (node: unknown): node is Record<string, unknown> =>
  typeof node === 'object' && node !== null && !Object.isFrozen(node);

const noField = (what: string, pointer: string): FleetError =>
  new FleetError('SITE_VALUES', `${what}: there is no field ${JSON.stringify(pointer)} in the file`);
