import { parse, Scalar, stringify, visit } from 'yaml';
import { isRecord } from '#bundles/is-record';
import { documentsOf, textOf } from '../read/edit-documents.ts';
import { isYamlFile, textAt } from '../read/manifests.ts';
import { LIKE_KUSTOMIZE } from '../read/parse-text.ts';
import type { Manifest } from '../imported.ts';

/** Flux's variable expressions: `${name}`, `${name:-default}`, `${name:=default}` and both without the colon; `$$` stands for `$`. */
const EXPRESSION = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-=])([^{}]*))?\}/g;
/** Any expression of envsubst, also those with functions that are not mapped. */
const ANY = /(?<!\$)\$\{([^{}]*)\}/g;

export type Substitution = {
  readonly text: string;
  /** Names without a value or default: Flux puts empty text. */
  readonly missing: readonly string[];
  /** Expressions with functions of envsubst, left as they are. */
  readonly unknown: readonly string[];
};

export const substituteText = (text: string, variables: Readonly<Record<string, string>>): Substitution => {
  const missing: string[] = [];
  const unknown = [...text.matchAll(ANY)].map(([all]) => all).filter((all) => !all.match(EXPRESSION));
  const made = text.replaceAll(EXPRESSION, (_, name?: string, operator?: string, fallback = '') => {
    if (name === undefined) return '$';
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined && (value !== '' || !operator?.startsWith(':'))) return value;
    if (operator !== undefined) return fallback;
    if (value === undefined) missing.push(name);
    return '';
  });
  return { text: made, missing, unknown };
};

export type Found = { readonly missing: Set<string>; readonly unknown: Set<string> };

/**
 * A text value of an object after substitution. Flux replaces in the text of the built object, in which a value without special
 * characters has no quotes: so `"${replicas}"` becomes a number.
 */
const substituteValue = (
  value: string,
  variables: Readonly<Record<string, string>>,
  found: Found,
): unknown => {
  if (!value.includes('$')) return value;
  const { text, missing, unknown } = substituteText(value, variables);
  for (const one of missing) found.missing.add(one);
  for (const one of unknown) found.unknown.add(one);
  if (text === value || value.includes('\n') || stringify(value, { lineWidth: 0 }).trimEnd() !== value)
    return text;
  try {
    return parse(text, LIKE_KUSTOMIZE) as unknown;
  } catch {
    return text;
  }
};

const DISABLED = 'kustomize.toolkit.fluxcd.io/substitute';

const isDisabled = (manifest: Manifest): boolean =>
  ['labels', 'annotations'].some((field) => textAt(manifest, 'metadata', field, DISABLED) === 'disabled');

export const substituteManifest = (
  manifest: Manifest,
  variables: Readonly<Record<string, string>>,
  found: Found,
): Manifest => {
  const put = (value: unknown): unknown => {
    if (typeof value === 'string') return substituteValue(value, variables, found);
    if (Array.isArray(value)) return value.map(put);
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [substituteText(key, variables).text, put(inner)]),
    );
  };
  return isDisabled(manifest) ? manifest : (put(manifest) as Manifest);
};

/** A file of the repository with the values in place, so that building it gives the objects that Flux makes. Comments stay. */
export const substituteFile = (
  path: string,
  bytes: Buffer,
  variables: Readonly<Record<string, string>>,
): Buffer => {
  const text = bytes.toString('utf8');
  if (!text.includes('$')) return bytes;
  if (!isYamlFile(path)) return Buffer.from(substituteText(text, variables).text);
  const documents = documentsOf(bytes);
  const found: Found = { missing: new Set(), unknown: new Set() };
  let changed = false;
  for (const document of documents) {
    const value: unknown = document.toJS({ maxAliasCount: 1000 });
    if (isRecord(value) && isDisabled(value)) continue;
    visit(document, {
      Scalar: (_, node) => {
        if (typeof node.value !== 'string' || !node.value.includes('$')) return undefined;
        const made = substituteValue(node.value, variables, found);
        if (made === node.value) return undefined;
        changed = true;
        const isBlock = node.value.includes('\n');
        if (isRecord(made) || Array.isArray(made)) return document.createNode(made);
        // In place: a node that is returned would be visited, and filled, again.
        node.value = made;
        // Its source is the expression, and a number is written as its source.
        delete node.source;
        if (!isBlock) node.type = Scalar.PLAIN;
        return undefined;
      },
    });
  }
  return changed ? textOf(documents) : bytes;
};
