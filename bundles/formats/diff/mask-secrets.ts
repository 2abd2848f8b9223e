import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { isRecord } from '../../is-record.ts';
import { namesSecretValue } from '../author-schema/names-secret-value.ts';
import { mayHoldSecret, parseText } from './read-text.ts';
import { isPrivate } from './unshown-files.ts';

type Fields = { readonly [field: string]: unknown };

/** Placeholder of a value. A changed value is marked; neither its length nor its digest is shown. */
const HIDDEN = '***';

/** Fields of a Secret that reveal nothing about its values. */
const SHOWN_OF_SECRET: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'type', 'immutable']);
/** Fields of an entry of Kustomize's secretGenerator that name things only. */
const SHOWN_OF_GENERATOR: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'behavior',
  'type',
  'options',
  'files',
  'envs',
  'env',
]);
/** Fields with values in kinds besides Secret (template of SealedSecret, ClusterSecret). */
const VALUE_FIELDS: ReadonlySet<string> = new Set(['data', 'stringData']);

/** The name of the platform's configuration: of its ConfigMap, and with any extension of its files. */
export const PLATFORM_CONFIG = 'platform-config';

/** Annotation in which kubectl and others keep a copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Levels of YAML or JSON in strings that are parsed; deeper text that may hold a Secret is hidden. */
const MAX_NESTED = 3;

/**
 * Masks the values of Secrets in two states of an object, a list of objects or any other parsed value: Secrets at the top level, in
 * lists, in templates of other kinds, in strings that are YAML or JSON, and in Kustomize's secretGenerator. All output of objects to
 * users goes through this function. A changed value becomes `*** (before)` and `*** (after)`, any other `***`.
 */
export const maskSecrets = <T>(before: T, after: T): readonly [before: T, after: T] => [
  mask(before, after, { mark: `${HIDDEN} (before)`, nested: 0 }) as T,
  mask(after, before, { mark: `${HIDDEN} (after)`, nested: 0 }) as T,
];

/** Whether a parsed value contains anything that maskSecrets hides. */
export const holdsSecret = (value: unknown, nested = 0): boolean =>
  !isDeepStrictEqual(mask(value, undefined, { mark: HIDDEN, nested }), value);

type Masking = {
  /** Placeholder of a changed value. */
  readonly mark: string;
  /** Number of strings around this value. */
  readonly nested: number;
  /** In an object of a kind like SealedSecret. */
  readonly inSecretKind?: boolean;
  /** Values whose names are those of secrets are hidden: at every depth, and also in text. */
  readonly byName?: 'fields' | 'fields and text';
};

const mask = (value: unknown, other: unknown, masking: Masking): unknown => {
  if (typeof value === 'string') {
    if (isSecretText(value, masking.nested)) return hidden(value, other, masking);
    return masking.byName === 'fields and text' ? maskText(value, other, masking) : value;
  }
  if (Array.isArray(value)) {
    const others: readonly unknown[] = Array.isArray(other) ? other : [];
    return value.map((item, index) => mask(item, others[index], masking));
  }
  const fields = fieldsOf(value);
  if (!fields) return value;
  const kind = typeof fields['kind'] === 'string' ? fields['kind'].trim().toLowerCase() : '';
  const others = fieldsOf(other) ?? {};
  if (kind === 'secret') return maskSecret(fields, others, masking);
  if (kind === 'configmap') return maskConfigMap(fields, others, masking);
  if (isPrivate(fields) && masking.byName === undefined) return maskPrivate(fields, others, masking);
  const within = kind === '' ? masking : { ...masking, inSecretKind: kind.includes('secret') };
  return mapFields(fields, (field, key) => {
    const beside = others[key];
    if (isHiddenByName(fields, key, masking)) return hidden(field, beside, masking);
    if (kind === 'secretlist' && key === 'items') return maskItems(field, beside, masking, maskSecret);
    if (key === 'secretGenerator') return maskItems(field, beside, masking, maskGenerator);
    if (within.inSecretKind === true && VALUE_FIELDS.has(key) && fieldsOf(field))
      return leaves(field, beside, masking);
    return mask(field, beside, within);
  });
};

/** Whether a text is YAML or JSON with a Secret, or looks like it and cannot be parsed. */
const isSecretText = (text: string, nested: number): boolean => {
  if (!mayHoldSecret(text)) return false;
  const values = nested < MAX_NESTED ? parseText(text) : undefined;
  return values === undefined || holdsSecret(values, nested + 1);
};

const maskSecret = (fields: Fields, others: Fields, masking: Masking): Fields =>
  mapFields(fields, (field, key) => {
    if (!SHOWN_OF_SECRET.has(key)) return leaves(field, others[key], masking);
    return key === 'metadata' ? maskMetadata(field, others[key], masking) : mask(field, others[key], masking);
  });

/** Whether a field has the name of a secret, or is the `value` beside a `name` or `key` with such a text, as in lists of variables. */
const isHiddenByName = (fields: Fields, key: string, { byName }: Masking): boolean => {
  if (byName === undefined) return false;
  if (namesSecretValue(key)) return true;
  const names = [fields['name'], fields['key']];
  return key === 'value' && names.some((name) => typeof name === 'string' && namesSecretValue(name));
};

/** Text of the platform's configuration: of YAML and JSON the secret values are hidden, other text that names one is hidden whole. */
const maskText = (text: string, other: unknown, masking: Masking): string => {
  const values = masking.nested < MAX_NESTED ? parseText(text) : undefined;
  if (!values) return namesSecretInText(text) ? (hidden(text, other, masking) as string) : text;
  const others = typeof other === 'string' ? (parseText(other) ?? []) : [];
  const masked = mask(values, others, { ...masking, nested: masking.nested + 1 });
  if (isDeepStrictEqual(masked, values)) return text;
  return (masked as readonly unknown[])
    .map((value) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
};

/** Whether a text gives a value to a name of a secret, as in 'password: x', '{"password": "x"}' and 'password=x'. */
export const namesSecretInText = (text: string): boolean =>
  FLOW_KEY.test(text) || text.matchAll(NAMED).some(([, name = '']) => namesSecretValue(name));

/** Each name is found from its beginning only, so that the time grows with the text. */
const NAMED = /(?<![\w.-])([\w.-]+)\\*["']?\s*[=:]/g;
/** Forms of YAML in which a name is not written before its colon: '? key', and escapes in double quotes. */
const FLOW_KEY = /(?:^|[\n,{[])[ \t]*(?:- *)*\?\s|\\[xuU][0-9a-f]/i;

/** The platform's configuration as a file has it, to be masked like its ConfigMap. */
export const asConfigMap = (data: unknown): Fields => ({
  kind: 'ConfigMap',
  metadata: { name: PLATFORM_CONFIG },
  data,
});

/**
 * Hides values of a ConfigMap whose names are those of secrets, as values of sites with these names are withheld. In the platform's
 * configuration, whose mappings and lists become text there, also names in text.
 */
const maskConfigMap = (fields: Fields, others: Fields, masking: Masking): Fields => {
  const name = fieldsOf(fields['metadata'])?.['name'];
  const isPlatform = typeof name === 'string' && name.startsWith(PLATFORM_CONFIG);
  const byName = masking.byName ?? (isPlatform ? 'fields and text' : 'fields');
  const values = { ...masking, byName } as const;
  const isShown = [...VALUE_FIELDS_OF_CONFIG].every((key) =>
    isDeepStrictEqual(mask(fields[key], undefined, values), fields[key]),
  );
  return mapFields(fields, (field, key) => {
    const beside = others[key];
    if (key === 'metadata') return maskMetadata(field, beside, masking, !isShown);
    if (isHiddenByName(fields, key, masking)) return hidden(field, beside, masking);
    return mask(field, beside, VALUE_FIELDS_OF_CONFIG.has(key) ? values : masking);
  });
};

const VALUE_FIELDS_OF_CONFIG: ReadonlySet<string> = new Set(['data', 'binaryData']);

/** Hides digest and size of a file that only its owner may read on the host: they would reveal whether two contents are equal. */
const maskPrivate = (fields: Fields, others: Fields, masking: Masking): Fields =>
  mapFields(fields, (field, key) =>
    key === 'digest' || key === 'size'
      ? hidden(field, others[key], masking)
      : mask(field, others[key], masking),
  );

/** @param hidesCopy whether the copy of the object in an annotation is hidden */
const maskMetadata = (value: unknown, other: unknown, masking: Masking, hidesCopy = true): unknown => {
  const metadata = fieldsOf(value);
  const annotations = fieldsOf(metadata?.['annotations']);
  const masked = mask(value, other, masking);
  if (!hidesCopy || !annotations || !(LAST_APPLIED in annotations)) return masked;
  const [shown, before] = [masked as { annotations: Fields }, fieldsOf(fieldsOf(other)?.['annotations'])];
  const copy = hidden(annotations[LAST_APPLIED], before?.[LAST_APPLIED], masking);
  return { ...shown, annotations: { ...shown.annotations, [LAST_APPLIED]: copy } };
};

const maskGenerator = (fields: Fields, others: Fields, masking: Masking): Fields =>
  mapFields(fields, (field, key) =>
    SHOWN_OF_GENERATOR.has(key) ? mask(field, others[key], masking) : leaves(field, others[key], masking),
  );

const maskItems = (
  value: unknown,
  other: unknown,
  masking: Masking,
  one: (fields: Fields, others: Fields, masking: Masking) => Fields,
): unknown => {
  if (!Array.isArray(value)) return leaves(value, other, masking);
  const others: readonly unknown[] = Array.isArray(other) ? other : [];
  return value.map((item: unknown, index) => {
    const fields = fieldsOf(item);
    return fields
      ? one(fields, fieldsOf(others[index]) ?? {}, masking)
      : hidden(item, others[index], masking);
  });
};

/** Keeps the keys and replaces every value by a placeholder. */
const leaves = (value: unknown, other: unknown, masking: Masking): unknown => {
  const fields = fieldsOf(value);
  if (!fields) return hidden(value, other, masking);
  const others = fieldsOf(other) ?? {};
  return mapFields(fields, (field, key) => leaves(field, others[key], masking));
};

const hidden = (value: unknown, other: unknown, { mark }: Masking): unknown => {
  if (value === null) return value;
  return other === undefined || isDeepStrictEqual(value, other) ? HIDDEN : mark;
};

const mapFields = (fields: Fields, one: (field: unknown, key: string) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, one(field, key)]));

const fieldsOf = (value: unknown): Fields | undefined =>
  isRecord(value) && !(value instanceof Uint8Array) ? value : undefined;
