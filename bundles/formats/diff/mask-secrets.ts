import { isDeepStrictEqual } from 'node:util';
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
};

const mask = (value: unknown, other: unknown, masking: Masking): unknown => {
  if (typeof value === 'string')
    return isSecretText(value, masking.nested) ? hidden(value, other, masking) : value;
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
  if (isPrivate(fields)) return maskPrivate(fields, others, masking);
  const within = kind === '' ? masking : { ...masking, inSecretKind: kind.includes('secret') };
  return mapFields(fields, (field, key) => {
    const beside = others[key];
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

/** Hides values of a ConfigMap whose names are those of secrets, as values of sites with these names are withheld. */
const maskConfigMap = (fields: Fields, others: Fields, masking: Masking): Fields =>
  mapFields(fields, (field, key) => {
    const [values, beside] = [fieldsOf(field), others[key]];
    if (key === 'metadata') return maskMetadata(field, beside, masking, namesSecretIn(fields));
    if (!values || !VALUE_FIELDS_OF_CONFIG.has(key)) return mask(field, beside, masking);
    const inside = fieldsOf(beside) ?? {};
    return mapFields(values, (value, name) =>
      namesSecretValue(name) ? hidden(value, inside[name], masking) : mask(value, inside[name], masking),
    );
  });

const VALUE_FIELDS_OF_CONFIG: ReadonlySet<string> = new Set(['data', 'binaryData']);

const namesSecretIn = (fields: Fields): boolean =>
  [...VALUE_FIELDS_OF_CONFIG].some((key) => Object.keys(fieldsOf(fields[key]) ?? {}).some(namesSecretValue));

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
