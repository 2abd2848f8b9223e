import {
  isMap,
  isScalar,
  isSeq,
  parseAllDocuments,
  type Document,
  type Scalar,
  type YAMLMap,
  visit,
} from 'yaml';
import { isRecord } from '#bundles/is-record';
import { isKustomization as isKustomizationFile } from '../../load/sources/kustomization-file.ts';
import type { Manifest } from '../imported.ts';
import { isYamlFile } from '../read/manifests.ts';

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
  readonly values: Manifest /** Paths of values that were left out. */;
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

/** Whether a file has secrets in clear: a Secret with values, a generator of one, or values of a release that look like secrets. */
export const holdsSecret = (path: string, bytes: Buffer): boolean =>
  (isYamlFile(path) || isKustomizationFile(path)) &&
  /Secret|secretGenerator|HelmRelease/.test(bytes.toString('latin1')) &&
  withoutSecrets(bytes, 'any').leftOut.length > 0;

export type LeftOut = { readonly subject: string; readonly line: number; readonly keys: readonly string[] };

/**
 * The text of a file in which each Secret in clear names a sealed set instead of its values.
 * @param set name of the set: a package may use the one that is called like its registration
 */
export const withoutSecrets = (
  bytes: Buffer,
  set: string,
): { readonly bytes: Buffer; readonly leftOut: readonly LeftOut[]; readonly unused: readonly string[] } => {
  const text = bytes.toString('utf8');
  const lineOf = (at: number): number => text.slice(0, at).split('\n').length;
  const leftOut: LeftOut[] = [];
  const unused: string[] = [];
  const documents = documentsOf(bytes);
  const leaveOut = (one: YAMLMap): void => {
    const line = lineOf(one.range?.[0] ?? 0);
    if (isList(one)) {
      for (const item of mapsIn(one, 'items')) leaveOut(item);
    } else if (isClearSecret(one)) {
      const name = String(one.getIn(['metadata', 'name']));
      const keys = [...keysIn(one, 'data'), ...keysIn(one, 'stringData')];
      one.delete('data');
      one.delete('stringData');
      for (const [key, value] of Object.entries(setAnnotations(set, name, keys)))
        one.setIn(['metadata', 'annotations', key], value);
      leftOut.push({ subject: `Secret ${name}`, line, keys });
    } else if (isRelease(one)) {
      const keys = redactPairs(one.getIn(['spec', 'values']));
      if (keys.length > 0)
        leftOut.push({ subject: `HelmRelease ${String(one.getIn(['metadata', 'name']))}`, line, keys });
    }
    for (const generator of mapsIn(one, 'secretGenerator')) {
      const name = String(generator.get('name'));
      const keys = generatorKeys(generator, unused);
      for (const field of ['literals', 'files', 'envs', 'env']) generator.delete(field);
      for (const [key, value] of Object.entries(setAnnotations(set, name, keys)))
        generator.setIn(['options', 'annotations', key], value);
      leftOut.push({ subject: `Secret ${name}`, line: lineOf(generator.range?.[0] ?? 0), keys });
    }
    for (const patch of inlinePatches(one)) {
      const made = withoutSecrets(Buffer.from(patch.value), set);
      patch.value = made.bytes.toString('utf8');
      const at = lineOf(patch.range?.[0] ?? 0);
      leftOut.push(...made.leftOut.map((left) => ({ ...left, line: at })));
    }
  };
  for (const { contents } of documents) if (isMap(contents)) leaveOut(contents);
  if (leftOut.length === 0) return { bytes, leftOut, unused };
  return {
    bytes: Buffer.from(documents.map((one) => one.toString({ lineWidth: 0 })).join('')),
    leftOut,
    unused,
  };
};

const setAnnotations = (
  set: string,
  name: string,
  keys: readonly string[],
): Readonly<Record<string, string>> => ({
  'fleet-ferry/secret-set': set,
  'fleet-ferry/secret-keys': keys.map((key) => `${key}=${name}.${key}`).join(','),
});

const documentsOf = (bytes: Buffer): readonly Document.Parsed[] => {
  const documents = parseAllDocuments(bytes.toString('utf8'), { prettyErrors: false, logLevel: 'error' });
  return Array.isArray(documents) && documents.every(({ errors }) => errors.length === 0) ? documents : [];
};

const mapsIn = (one: YAMLMap, field: string): readonly YAMLMap[] => {
  const found = one.get(field);
  return isSeq(found) ? found.items.filter((item) => isMap(item)) : [];
};

const isList = (one: YAMLMap): boolean => String(one.get('kind')).endsWith('List') && isSeq(one.get('items'));

const isClearSecret = (one: YAMLMap): boolean =>
  one.get('kind') === 'Secret' &&
  one.get('apiVersion') === 'v1' &&
  one.get('sops') === undefined &&
  (keysIn(one, 'data').length > 0 || keysIn(one, 'stringData').length > 0);

const isRelease = (one: YAMLMap): boolean => one.get('kind') === 'HelmRelease';

/** The texts of patches that a kustomization has in itself. */
const inlinePatches = (one: YAMLMap): readonly Scalar<string>[] => {
  const merged = one.get('patchesStrategicMerge');
  return [
    ...mapsIn(one, 'patches').map((patch) => patch.get('patch', true)),
    ...(isSeq(merged) ? merged.items : []),
  ].filter((text): text is Scalar<string> => isScalar(text) && typeof text.value === 'string');
};

const keysIn = (one: YAMLMap, field: string): readonly string[] => {
  const found = one.get(field);
  return isMap(found) ? found.items.map(({ key }) => String(isScalar(key) ? key.value : key)) : [];
};

const generatorKeys = (generator: YAMLMap, unused: string[]): readonly string[] => {
  const listed = (field: string): readonly string[] => {
    const found = generator.get(field);
    return isSeq(found) ? found.items.map((item) => String(isScalar(item) ? item.value : item)) : [];
  };
  const files = listed('files').map((one) =>
    one.includes('=') ? one.split('=', 2) : [one.split('/').at(-1), one],
  );
  unused.push(...files.map(([, file]) => file ?? ''), ...listed('envs'), ...textOf(generator.get('env')));
  return [...listed('literals').map((one) => one.split('=')[0] ?? ''), ...files.map(([key]) => key ?? '')];
};

const textOf = (value: unknown): readonly string[] => (typeof value === 'string' ? [value] : []);

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
