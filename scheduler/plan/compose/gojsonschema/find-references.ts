import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { Value } from '../../../model/model.ts';
import { parseUrl } from '../../../model/go/go-url.ts';

export type Fields = { readonly [key: string]: Value };

/** Resolves the references of one schema document. */
export type References = {
  /** Returns the target of a reference in `node`. @throws FleetError SCHEMA_INVALID when it is not in the document */
  readonly resolve: (node: Fields, reference: string) => { readonly name: string; readonly target: Value };
};

export const isFields = (value: Value | undefined): value is Fields => isRecord(value);

const MAX_DEPTH = 100;
/** Keywords that gojsonschema skips: their values are data. */
const LITERAL: ReadonlySet<string> = new Set(['const', 'enum']);
/** Keywords whose value maps names to schemas. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'dependencies', 'patternProperties']);

/** Base of relative references. */
const ROOT = 'go:///';

/**
 * Collects the identifiers and references of a document as gojsonschema's schema pool does: `id` takes precedence over `$id` in every
 * draft, anywhere but in `const` and `enum`, under unknown keywords too.
 */
export const findReferences = (document: Value): References => {
  const documents = new Map<string, Value>();
  const absolute = new Map<object, string>();
  const visit = (value: Value, base: string, depth: number): void => {
    if (depth > MAX_DEPTH) throw invalid(`it nests deeper than ${MAX_DEPTH} levels`);
    if (Array.isArray(value)) for (const item of value) visit(item, base, depth + 1);
    if (!isFields(value)) return;
    const id = value[Object.hasOwn(value, 'id') ? 'id' : '$id'];
    const own = typeof id === 'string' ? resolveUrl(id, base) : undefined;
    if (own !== undefined && !documents.has(own)) documents.set(own, value);
    const inside = own ?? base;
    const { $ref } = value;
    const reference = typeof $ref === 'string' ? resolveUrl($ref, inside) : undefined;
    if (reference !== undefined) absolute.set(value, reference);
    for (const [key, one] of Object.entries(value)) {
      if (LITERAL.has(key)) continue;
      if (!NAMED.has(key)) visit(one, inside, depth + 1);
      else if (isFields(one)) for (const named of Object.values(one)) visit(named, inside, depth + 1);
    }
  };
  visit(document, ROOT, 0);
  documents.set(ROOT, document);
  return {
    resolve: (node, reference) => {
      checkUrl(reference);
      const name = absolute.get(node) ?? resolveUrl(reference, ROOT) ?? reference;
      const [base = '', fragment = ''] = name.split('#');
      const found = documents.get(name);
      const holder = found ?? documents.get(base);
      if (holder === undefined) throw notThere(reference);
      return { name, target: found ?? follow(holder, fragment, reference) };
    },
  };
};

/** @throws FleetError SCHEMA_INVALID when Go cannot parse the URL */
export const checkUrl = (text: string): void => {
  try {
    parseUrl(text);
  } catch (cause) {
    throw invalid(`${JSON.stringify(text.slice(0, 80))} is not a URL: ${(cause as Error).message}`, cause);
  }
};

export const invalid = (why: string, cause?: unknown): FleetError =>
  new FleetError('SCHEMA_INVALID', why, { cause });

const notThere = (reference: string): FleetError =>
  invalid(`it refers to ${reference}, which is not in it, and nothing is fetched: write that schema into it`);

const resolveUrl = (text: string, base: string): string | undefined =>
  URL.canParse(text, base) ? new URL(text, base).href.replace(/#$/, '') : undefined;

/** Follows a JSON pointer. A fragment of another form is the whole document. */
const follow = (document: Value, fragment: string, reference: string): Value => {
  const pointer = decodeURIComponent(fragment);
  if (!pointer.startsWith('/')) return document;
  let found: Value | undefined = document;
  for (const token of pointer.slice(1).split('/')) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = /^[-+]?\d+$/.test(token) ? found[Number(token)] : undefined;
    else found = isFields(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    if (found === undefined) throw notThere(reference);
  }
  return found;
};
