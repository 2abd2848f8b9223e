import { posix } from 'node:path';
import { Document, isMap, isScalar, isSeq, visit, type YAMLMap, type YAMLSeq } from 'yaml';
import { defined } from '#bundles/defined';
import { isRecord } from '#bundles/is-record';
import type { Manifest } from '../imported.ts';
import { inlineAliases, readDocuments, textOf, type YamlMistake } from '../read/edit-documents.ts';
import { textAt } from '../read/manifests.ts';
import { MAX_ALIASES } from '../read/parse-text.ts';
import {
  envFilesOf,
  isOperationOnValues,
  isPatchTransformer,
  keysOfOperation,
  type SecretSurvey,
  surveySecrets,
  textsIn,
} from './survey-secrets.ts';

/** Text in the place of a secret value that the import leaves out. */
export const LEFT_OUT = 'left-out-by-import';

/** Keys whose text is a secret, not the name of one: `adminPassword`, `api-token`, and not `secretName`. */
const SECRET_KEY =
  /(?:^|[a-z0-9_.-])(?:password|passwd|passphrase|token|apikey|api_key|api-key|secretkey|secret_key|secret-key|privatekey|private_key|private-key|clientsecret|client_secret|client-secret)$/i;
const PLAIN_KEY = /^secret$/i;

const isSecretText = (key: string, value: unknown): boolean =>
  typeof value === 'string' &&
  value !== '' &&
  value !== LEFT_OUT &&
  !value.startsWith('${') &&
  (SECRET_KEY.test(key) || PLAIN_KEY.test(key));

export type Redacted = {
  readonly values: Manifest;
  /** Paths of values that were left out. */
  readonly paths: readonly string[];
};

/** Values of a chart without those that look like secrets. */
export const withoutSecretValues = (values: Manifest): Redacted => {
  const paths: string[] = [];
  const walk = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((one, at) => walk(one, `${path}[${at}]`));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        const here = path === '' ? key : `${path}.${key}`;
        if (!isSecretText(key, inner)) return [key, walk(inner, here)];
        paths.push(here);
        return [key, LEFT_OUT];
      }),
    );
  };
  return { values: walk(values, '') as Manifest, paths };
};

export type LeftOut = { readonly subject: string; readonly line: number; readonly keys: readonly string[] };

export type WithoutSecrets = {
  /** The given ones where nothing is changed. */
  readonly bytes: Buffer;
  readonly leftOut: readonly LeftOut[];
  /** Files that only generators of Secrets read. */
  readonly unused: readonly string[];
  /** Of a text, or of a patch inside of it, whose Secrets cannot be found for it. The text must not be copied. */
  readonly mistake?: YamlMistake | undefined;
};

/** Place of a text among the files of a target. */
export type SurveyedText = { readonly path: string; readonly survey: SecretSurvey };

/**
 * The text of a file in which each Secret in clear names a sealed set instead of its values, and in which patches have no values of
 * Secrets.
 * @param set name of the set: a package may use the one that is called like its registration
 */
export const withoutSecrets = (bytes: Buffer, set: string, at?: SurveyedText): WithoutSecrets => {
  const { path, survey } = at ?? {
    path: 'kustomization.yaml',
    survey: surveySecrets({ files: new Map([['kustomization.yaml', bytes]]) }),
  };
  return survey.isRead(path, bytes)
    ? clean(bytes, { set, path, survey, targets: survey.targetsOf(path) })
    : { bytes, leftOut: [], unused: [] };
};

type Cleaning = SurveyedText & {
  readonly set: string;
  /** Of a patch that has some; without any, its text names its object. */
  readonly targets: readonly Manifest[];
};

type Cleaned = WithoutSecrets & {
  /** True for a patch without an operation that is left. */
  readonly isEmpty: boolean;
};

const clean = (bytes: Buffer, cleaning: Cleaning): Cleaned => {
  const text = bytes.toString('utf8');
  let current: Document.Parsed | undefined;
  const made: Made = {
    leftOut: [],
    unused: [],
    changed: false,
    mistake: undefined,
    plain: (node) => node.toJS(current ?? new Document(), { maxAliasCount: MAX_ALIASES }) as Manifest,
    lineOf: (node) => text.slice(0, node.range?.[0] ?? 0).split('\n').length,
  };
  const { documents, mistake, hadRepeatedKeys } = readDocuments(bytes, cleaning.path);
  made.mistake = mistake;
  // The bytes may have a Secret in the key that does not count.
  made.changed = hadRepeatedKeys;
  for (const document of documents) {
    const { contents } = document;
    current = document;
    inlineAliases(document);
    if (isMap(contents)) cleanMap(contents, cleaning, made);
    if (isSeq(contents)) cleanOperations(contents, cleaning, made);
  }
  const { leftOut, unused, changed } = made;
  const isEmpty =
    changed && documents.every(({ contents }) => isSeq(contents) && contents.items.length === 0);
  return { bytes: changed ? textOf(documents) : bytes, leftOut, unused, mistake: made.mistake, isEmpty };
};

type Made = {
  readonly leftOut: LeftOut[];
  readonly unused: string[];
  changed: boolean;
  mistake: YamlMistake | undefined;
  /** A node of the document that is read, with its aliases resolved. */
  readonly plain: (node: YAMLMap) => Manifest;
  readonly lineOf: (node: { readonly range?: readonly number[] | null | undefined }) => number;
};

const leave = (made: Made, subject: string, node: YAMLMap | YAMLSeq, keys: readonly string[]): void => {
  made.changed = true;
  made.leftOut.push({ subject, line: made.lineOf(node), keys });
};

const cleanMap = (one: YAMLMap, cleaning: Cleaning, made: Made): void => {
  const { survey, targets, path } = cleaning;
  if (isList(one)) cleanList(one, cleaning, made);
  else if (targets.some(survey.meansSecret)) cleanTargeted(one, targets, made);
  else if (isPlainSecret(one)) cleanSecret(one, cleaning, made);
  else if (isRelease(one) || targets.some(meansRelease)) {
    const keys = redactPairs(one.getIn(['spec', 'values']));
    if (keys.length > 0) {
      keepFields(one, RELEASE_FIELDS);
      leave(made, `HelmRelease ${String(one.getIn(['metadata', 'name']))}`, one, keys);
    }
  }
  for (const generator of mapsIn(one, 'secretGenerator')) {
    const plain = made.plain(generator);
    const keys = survey.keysOfGenerator(plain, path);
    made.unused.push(...filesOf(plain));
    for (const field of ['literals', 'files', 'envs', 'env']) generator.delete(field);
    annotate(generator, ['options', 'annotations'], nameIn(plain), cleaning);
    leave(made, `Secret ${nameIn(plain).name}`, generator, keys);
  }
  if (isPatchTransformer(String(one.get('kind')))) cleanTransformer(one, cleaning, made);
  // Kustomizations of Flux and Applications have patches further down.
  visit(one, {
    Map: (_, inner) => {
      for (const field of ['patches', 'patchesJson6902', 'patchesStrategicMerge', 'transformers'])
        cleanPatches(inner, field, cleaning, made);
    },
  });
  // Kustomize gives a generator without values an empty `data`, and a Secret that a set fills must have none.
  for (const generator of mapsIn(one, 'secretGenerator')) {
    const metadata = defined(nameIn(made.plain(generator)));
    const patch = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, data: null });
    if (isSeq(one.get('patches'))) one.addIn(['patches'], { patch });
    else one.set('patches', [{ patch }]);
  }
};

const cleanSecret = (one: YAMLMap, cleaning: Cleaning, made: Made): void => {
  const keys = valueKeys(one);
  const named = {
    name: String(one.getIn(['metadata', 'name'])),
    namespace: textAt(made.plain(one), 'metadata', 'namespace'),
  };
  if (keys.length + cleaning.survey.keysOf(named.name, named.namespace).length === 0) return;
  keepFields(one, SECRET_FIELDS);
  annotate(one, ['metadata', 'annotations'], named, cleaning);
  made.changed = true;
  if (keys.length > 0) leave(made, `Secret ${named.name}`, one, keys);
};

const cleanList = (one: YAMLMap, cleaning: Cleaning, made: Made): void => {
  const before = made.leftOut.length;
  for (const item of mapsIn(one, 'items')) cleanMap(item, cleaning, made);
  if (made.leftOut.length > before) keepFields(one, LIST_FIELDS);
};

/** Removes all other fields: a merge key may have copied the secrets from one of them. */
const keepFields = (one: YAMLMap, fields: ReadonlySet<string>): void => {
  for (const key of fieldsOf(one)) if (!fields.has(key)) one.delete(key);
};

/** Of any object, and the directive of a strategic merge patch. */
const COMMON_FIELDS = ['$patch', 'apiVersion', 'kind', 'metadata'];
const LIST_FIELDS: ReadonlySet<string> = new Set([...COMMON_FIELDS, 'items']);
const RELEASE_FIELDS: ReadonlySet<string> = new Set([...COMMON_FIELDS, 'spec']);
const SECRET_FIELDS: ReadonlySet<string> = new Set([...COMMON_FIELDS, 'immutable', 'type']);

/** A patch with a target may have any kind and name. The annotations are those of the Secrets that it changes. */
const cleanTargeted = (one: YAMLMap, targets: readonly Manifest[], made: Made): void => {
  const keys = valueKeys(one);
  if (keys.length === 0) return;
  keepFields(one, SECRET_FIELDS);
  leave(made, subjectOf(targets), one, keys);
};

/** The operations of a JSON patch without those on values of Secrets. */
const cleanOperations = (list: YAMLSeq, { targets, survey }: Cleaning, made: Made): void => {
  if (targets.some(survey.meansSecret))
    list.items = list.items.filter((one) => {
      const operation: unknown = isMap(one) ? made.plain(one) : undefined;
      if (!isMap(one) || !isRecord(operation) || !isOperationOnValues(operation)) return true;
      const { keys, gone } = keysOfOperation(operation);
      leave(made, subjectOf(targets), one, [...keys, ...gone]);
      return false;
    });
  if (!targets.some(meansRelease)) return;
  for (const one of list.items.filter((item) => isMap(item))) {
    const key = String(one.get('path')).split('/').at(-1) ?? '';
    const isText = isSecretText(key, one.get('value'));
    const keys = isText ? [key] : redactPairs(one.get('value'));
    if (isText) one.set('value', LEFT_OUT);
    if (keys.length > 0) leave(made, subjectOf(targets, 'HelmRelease'), one, keys);
  }
};

/** Patches inside of a kustomization. One without an operation that is left is left out, for Kustomize refuses it. */
const cleanPatches = (one: YAMLMap, field: string, cleaning: Cleaning, made: Made): void => {
  const list = one.get(field);
  if (!isSeq(list)) return;
  const folder = posix.dirname(cleaning.path);
  list.items = list.items.filter((item) => {
    const isNamed = isMap(item) && (field === 'patches' || field === 'patchesJson6902');
    const file = isNamed ? item.get('path') : undefined;
    if (typeof file === 'string' && cleaning.survey.isLeftOut(posix.join(folder, file))) {
      made.changed = true;
      return false;
    }
    const target: unknown = isNamed ? made.plain(item)['target'] : undefined;
    return cleanPatch(
      isNamed ? item.get('patch', true) : item,
      { ...cleaning, targets: isRecord(target) ? [target] : [] },
      made,
    );
  });
};

/** A transformer cannot be without a patch: one that is left out becomes one that changes nothing. */
const cleanTransformer = (one: YAMLMap, cleaning: Cleaning, made: Made): void => {
  const { path, target } = made.plain(one);
  const targets = isRecord(target) ? [target] : [];
  const folder = posix.dirname(cleaning.path);
  const isFileLeftOut = typeof path === 'string' && cleaning.survey.isLeftOut(posix.join(folder, path));
  if (isFileLeftOut) one.delete('path');
  const inline = ['patch', 'jsonOp'].filter((field) => one.has(field));
  const emptied = inline.filter((field) => !cleanPatch(one.get(field, true), { ...cleaning, targets }, made));
  if (!isFileLeftOut && emptied.length === 0) return;
  made.changed = true;
  const isOperations = one.get('kind') === 'PatchJson6902Transformer';
  one.set(
    emptied[0] ?? (isOperations ? 'jsonOp' : 'patch'),
    isOperations
      ? '[{"op": "test", "path": "/kind", "value": "Secret"}]'
      : '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "any"}}',
  );
};

/** @returns whether something of the patch is left */
const cleanPatch = (patch: unknown, cleaning: Cleaning, made: Made): boolean => {
  if (isMap(patch)) cleanMap(patch, cleaning, made);
  if (isSeq(patch)) {
    const before = patch.items.length;
    cleanOperations(patch, cleaning, made);
    return before === 0 || patch.items.length > 0;
  }
  if (!isScalar(patch) || typeof patch.value !== 'string') return true;
  const inner = clean(Buffer.from(patch.value), cleaning);
  if (inner.mistake) {
    const { message, at } = inner.mistake;
    made.mistake ??= { message, at: { file: at.file, line: made.lineOf(patch) } };
  }
  const text = inner.bytes.toString('utf8');
  if (text === patch.value) return true;
  patch.value = text;
  made.changed = true;
  const line = made.lineOf(patch);
  made.leftOut.push(...inner.leftOut.map((left) => ({ ...left, line })));
  return !inner.isEmpty;
};

type Named = { readonly name: string; readonly namespace: string | undefined };

const nameIn = (generator: Manifest): Named => ({
  name: textAt(generator, 'name') ?? '',
  namespace: textAt(generator, 'namespace'),
});

const annotate = (
  node: YAMLMap,
  at: readonly string[],
  { name, namespace }: Named,
  { set, survey }: Cleaning,
): void => {
  const keys = survey.keysOf(name, namespace);
  if (keys.length === 0) return;
  node.setIn([...at, 'fleet-ferry/secret-set'], set);
  node.setIn([...at, 'fleet-ferry/secret-keys'], keys.map((key) => `${key}=${name}.${key}`).join(','));
};

const subjectOf = (targets: readonly Manifest[], kind = 'Secret'): string => {
  const names = new Set(targets.map((one) => textAt(one, 'name') ?? 'of any name'));
  return `${kind} ${[...names].join(', ')}`;
};

const mapsIn = (one: YAMLMap, field: string): readonly YAMLMap[] => {
  const found = one.get(field);
  return isSeq(found) ? found.items.filter((item) => isMap(item)) : [];
};

const isList = (one: YAMLMap): boolean => String(one.get('kind')).endsWith('List') && isSeq(one.get('items'));

const isPlainSecret = (one: YAMLMap): boolean =>
  one.get('kind') === 'Secret' && one.get('apiVersion') === 'v1' && one.get('sops') === undefined;

const isRelease = (one: YAMLMap): boolean => one.get('kind') === 'HelmRelease';

const meansRelease = (target: Manifest): boolean => /HelmRelease/.test(textAt(target, 'kind') ?? '');

const valueKeys = (one: YAMLMap): readonly string[] =>
  ['data', 'stringData'].flatMap((field) => {
    const found = one.get(field);
    return isMap(found) ? fieldsOf(found) : [];
  });

const fieldsOf = ({ items }: YAMLMap): readonly string[] =>
  items.map(({ key }) => String(isScalar(key) ? key.value : key));

const filesOf = (generator: Manifest): readonly string[] =>
  [...textsIn(generator, 'files'), ...envFilesOf(generator)].map((one) => one.slice(one.indexOf('=') + 1));

const redactPairs = (node: unknown): readonly string[] => {
  const keys: string[] = [];
  if (isMap(node))
    visit(node, {
      Pair: (_, { key, value }) => {
        const name = isScalar(key) ? String(key.value) : '';
        if (!isScalar(value) || !isSecretText(name, value.value)) return;
        value.value = LEFT_OUT;
        keys.push(name);
      },
    });
  return keys;
};
