import { isMap, isScalar, isSeq, parseAllDocuments, type Document, type YAMLMap, visit } from 'yaml';
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
  for (const document of documents) {
    const line = lineOf(document.contents?.range?.[0] ?? 0);
    if (isClearSecret(document)) {
      const name = String(document.getIn(['metadata', 'name']));
      const keys = [...keysIn(document, 'data'), ...keysIn(document, 'stringData')];
      document.deleteIn(['data']);
      document.deleteIn(['stringData']);
      for (const [key, value] of Object.entries(setAnnotations(set, name, keys)))
        document.setIn(['metadata', 'annotations', key], value);
      leftOut.push({ subject: `Secret ${name}`, line, keys });
    } else if (isSecretGenerator(document)) {
      const generators = document.getIn(['secretGenerator']);
      for (const one of isSeq(generators) ? generators.items.filter((item) => isMap(item)) : []) {
        const name = String(one.get('name'));
        const keys = generatorKeys(one, unused);
        for (const field of ['literals', 'files', 'envs', 'env']) one.delete(field);
        for (const [key, value] of Object.entries(setAnnotations(set, name, keys)))
          one.setIn(['options', 'annotations', key], value);
        leftOut.push({ subject: `Secret ${name}`, line: lineOf(one.range?.[0] ?? 0), keys });
      }
    } else if (isRelease(document)) {
      const keys = redactPairs(document.getIn(['spec', 'values']));
      if (keys.length > 0)
        leftOut.push({ subject: `HelmRelease ${String(document.getIn(['metadata', 'name']))}`, line, keys });
    }
  }
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

const isClearSecret = (document: Document.Parsed): boolean =>
  isMap(document.contents) &&
  document.get('kind') === 'Secret' &&
  document.get('apiVersion') === 'v1' &&
  document.get('sops') === undefined &&
  (keysIn(document, 'data').length > 0 || keysIn(document, 'stringData').length > 0);

const isSecretGenerator = (document: Document.Parsed): boolean =>
  isMap(document.contents) && isSeq(document.get('secretGenerator'));

const isRelease = (document: Document.Parsed): boolean =>
  isMap(document.contents) && document.get('kind') === 'HelmRelease';

const keysIn = (document: Document.Parsed, field: string): readonly string[] => {
  const found = document.get(field);
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
  unused.push(...files.map(([, file]) => file ?? ''), ...listed('envs'));
  return [...listed('literals').map((one) => one.split('=')[0] ?? ''), ...files.map(([key]) => key ?? '')];
};

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
