import { posix } from 'node:path';
import { pointerTokens } from '#bundles/formats/bounds/site-fields';
import { isRecord } from '#bundles/is-record';
import { isKustomization as isKustomizationFile } from '../../load/sources/kustomization-file.ts';
import type { Manifest } from '../imported.ts';
import { kindOf, listAt, nameOf, namespaceOf, recordAt, textAt } from '../read/manifests.ts';
import { parseTexts } from '../read/parse-text.ts';

/** Secrets of all files of a target: a Secret and its patches may be in several. */
export type SecretSurvey = {
  /** Keys that a Secret of a file has once all files are built. */
  readonly keysOf: (name: string, namespace: string | undefined) => readonly string[];
  /** Keys of an item of `secretGenerator`, those of its env files included. */
  readonly keysOfGenerator: (generator: Manifest, path: string) => readonly string[];
  /** Whether the target of a patch may select a Secret. */
  readonly meansSecret: (target: Manifest) => boolean;
  /** Targets that kustomizations give the patch in a file. */
  readonly targetsOf: (path: string) => readonly Manifest[];
  /** Whether a patch in a file has nothing but operations on values of Secrets. */
  readonly isLeftOut: (path: string) => boolean;
  /** Whether a file can have objects, patches or generators. */
  readonly isRead: (path: string, bytes: Buffer) => boolean;
};

export type FilesToSurvey = {
  readonly files: ReadonlyMap<string, Buffer>;
  /** Any file of the repository. */
  readonly read?: (path: string) => Buffer | undefined;
  /** The objects that the tool makes of the files. */
  readonly objects?: readonly Manifest[];
};

/** Keys that one file gives to, or takes from, the Secrets that it means. */
type Change = {
  readonly means: (name: string, namespace: string | undefined) => boolean;
  readonly keys: readonly string[];
  readonly gone: readonly string[];
};

export const surveySecrets = ({ files, read, objects = [] }: FilesToSurvey): SecretSurvey => {
  const targets = new Map<string, Manifest[]>();
  const isRead = (path: string, bytes: Buffer): boolean =>
    targets.has(path) ||
    isKustomizationFile(path) ||
    (/\.(?:ya?ml|json)$/.test(path) &&
      /Secret|secretGenerator|HelmRelease|patches|PatchTransformer|PatchJson6902Transformer/.test(
        bytes.toString(),
      ));
  const values = new Map<string, readonly unknown[]>();
  for (const [path, bytes] of files) if (isRead(path, bytes)) values.set(path, valuesIn(bytes));
  const patches = [...values].flatMap(([path, found]) =>
    found.flatMap((value) => patchesBelow(value).map((patch) => ({ ...patch, path }))),
  );
  for (const { path, file, target } of patches) {
    if (file === undefined || !target) continue;
    const named = posix.join(posix.dirname(path), file);
    targets.set(named, [...(targets.get(named) ?? []), target]);
    const bytes = files.get(named);
    if (bytes) values.set(named, valuesIn(bytes));
  }
  const keysOfGenerator = (generator: Manifest, path: string): readonly string[] => [
    ...textsIn(generator, 'literals').map((one) => one.split('=')[0] ?? ''),
    ...textsIn(generator, 'files').map((one) =>
      one.includes('=') ? (one.split('=')[0] ?? '') : posix.basename(one),
    ),
    ...envFilesOf(generator).flatMap((one) => {
      const file = posix.join(posix.dirname(path), one);
      return keysOfEnv((files.get(file) ?? read?.(file))?.toString('utf8') ?? '');
    }),
  ];
  const ofObject = (value: unknown, path: string): readonly Change[] => {
    if (!isRecord(value)) return [];
    const items = kindOf(value).endsWith('List') ? listAt(value, 'items') : [];
    const generated = listAt(value, 'secretGenerator')
      .filter(isRecord)
      .map((one) => ({
        means: isNamed(textAt(one, 'name') ?? '', textAt(one, 'namespace')),
        keys: keysOfGenerator(one, path),
        gone: [],
      }));
    return [
      ...items.flatMap((item) => ofObject(item, path)),
      ...generated,
      ...(isPlainSecret(value)
        ? [{ means: isNamed(nameOf(value), namespaceOf(value)), ...keysIn(value) }]
        : []),
    ];
  };
  const ofPatch = (value: unknown, target: Manifest): readonly Change[] => {
    const means = (name: string, namespace: string | undefined): boolean =>
      matches(target['name'], name) && (namespace === undefined || matches(target['namespace'], namespace));
    if (Array.isArray(value))
      return value.filter(isRecord).map((one) => ({ means, ...keysOfOperation(one) }));
    return isRecord(value) ? [{ means, ...keysIn(value) }] : [];
  };
  const plain = [...values].flatMap(([path, found]) =>
    targets.has(path) ? [] : found.flatMap((value) => ofObject(value, path)),
  );
  const merged = patches.flatMap(({ values: own, target, path }) =>
    target ? [] : own.flatMap((value) => ofObject(value, path)),
  );
  const secrets = objects.filter(isPlainSecret);
  const names = [...secrets.map(nameOf), ...namesIn([...values.values()].flat())];
  const meansSecret = (target: Manifest): boolean =>
    target['kind'] === undefined || target['kind'] === ''
      ? names.some((name) => matches(target['name'], name))
      : matches(target['kind'], 'Secret');
  const targeted = [
    ...patches.flatMap(({ values: own, target }) => (target ? [{ own, target }] : [])),
    ...[...targets].flatMap(([path, all]) => all.map((target) => ({ own: values.get(path) ?? [], target }))),
  ]
    .filter(({ target }) => meansSecret(target))
    .flatMap(({ own, target }) => own.flatMap((value) => ofPatch(value, target)));
  const changes = [...plain, ...merged, ...targeted];
  return {
    keysOfGenerator,
    meansSecret,
    isRead,
    targetsOf: (path) => targets.get(path) ?? [],
    isLeftOut: (path) =>
      (targets.get(path) ?? []).some(meansSecret) &&
      (values.get(path) ?? []).every(
        (value) => Array.isArray(value) && value.every((one) => isRecord(one) && isOperationOnValues(one)),
      ),
    keysOf: (name, namespace) => {
      const own = changes.filter(({ means }) => means(name, namespace));
      const gone = new Set(own.flatMap((one) => one.gone));
      const built = secrets.filter((one) => isNamed(name, namespace)(nameOf(one), namespaceOf(one)));
      return [
        ...new Set([
          ...own.flatMap(({ keys }) => keys).filter((key) => !gone.has(key)),
          ...built.flatMap((one) => keysIn(one).keys),
        ]),
      ];
    },
  };
};

/** Whether an operation of a JSON patch says something about `data` or `stringData`, or copies from there. */
export const isOperationOnValues = (operation: Manifest): boolean =>
  ['path', 'from'].some((field) => {
    const path = operation[field];
    return path === '' || (typeof path === 'string' && /^\/(?:data|stringData)(?:\/|$)/.test(path));
  });

/** The keys of a Secret that an operation sets and removes. */
export const keysOfOperation = (
  operation: Manifest,
): { readonly keys: readonly string[]; readonly gone: readonly string[] } => {
  if (!isOperationOnValues(operation) || operation['op'] === 'test') return { keys: [], gone: [] };
  const keyOf = (path: unknown): readonly string[] => {
    const key = typeof path === 'string' ? pointerTokens(path)[1] : undefined;
    return key === undefined ? [] : [key];
  };
  const { op, path, from, value } = operation;
  if (op === 'remove') return { keys: [], gone: keyOf(path) };
  if (isRecord(value)) return path === '' ? keysIn(value) : { keys: Object.keys(value), gone: [] };
  return { keys: keyOf(path), gone: op === 'move' ? keyOf(from) : [] };
};

const isPlainSecret = (value: Manifest): boolean =>
  kindOf(value) === 'Secret' && value['apiVersion'] === 'v1' && value['sops'] === undefined;

const keysIn = (value: Manifest): { readonly keys: readonly string[]; readonly gone: readonly string[] } => {
  const all = [...Object.entries(recordAt(value, 'data')), ...Object.entries(recordAt(value, 'stringData'))];
  const named = (isGone: boolean): readonly string[] =>
    all.filter(([, one]) => (one === null) === isGone).map(([key]) => key);
  return { keys: named(false), gone: named(true) };
};

const namesIn = (values: readonly unknown[]): readonly string[] =>
  values
    .filter(isRecord)
    .flatMap((value) => [
      ...(kindOf(value) === 'Secret' ? [nameOf(value)] : []),
      ...listAt(value, 'secretGenerator').map((one) => textAt(one, 'name') ?? ''),
      ...namesIn(listAt(value, 'items')),
    ]);

/** A file that names no namespace may mean any. */
const isNamed =
  (name: string, namespace: string | undefined) =>
  (other: string, at: string | undefined): boolean =>
    name === other && (namespace === undefined || at === undefined || namespace === at);

/** Kustomize reads the fields of a target as expressions that match the whole text. */
const matches = (pattern: unknown, text: string): boolean => {
  if (typeof pattern !== 'string' || pattern === '') return true;
  try {
    return new RegExp(`^(?:${pattern})$`).test(text);
  } catch {
    // An expression that only Go knows: it may mean this one.
    return true;
  }
};

/** Transformers of Kustomize that are a patch in a file of its own. */
export const isPatchTransformer = (kind: string): boolean => /^Patch(?:Json6902)?Transformer$/.test(kind);

type FoundPatch = {
  readonly target: Manifest | undefined;
  readonly values: readonly unknown[];
  readonly file: string | undefined;
};

/** Patches of a kustomization, and of objects that hold some, such as a Kustomization of Flux or an Application. */
const patchesBelow = (value: unknown): readonly FoundPatch[] => {
  if (Array.isArray(value)) return value.flatMap(patchesBelow);
  if (!isRecord(value)) return [];
  const own = [
    ...listAt(value, 'patches'),
    ...listAt(value, 'patchesJson6902'),
    ...(isPatchTransformer(kindOf(value)) ? [value] : []),
  ].filter(isRecord);
  return [
    ...own.map((one) => ({
      target: isRecord(one['target']) ? one['target'] : undefined,
      values: valuesOf(one['patch'] ?? one['jsonOp']),
      file: textAt(one, 'path'),
    })),
    ...listAt(value, 'patchesStrategicMerge').map((one) => ({
      target: undefined,
      values: valuesOf(one),
      file: undefined,
    })),
    ...textsIn(value, 'transformers').flatMap((one) => valuesOf(one).flatMap(patchesBelow)),
    ...Object.values(value).flatMap(patchesBelow),
  ];
};

const valuesOf = (patch: unknown): readonly unknown[] => {
  if (typeof patch === 'string') return valuesIn(Buffer.from(patch));
  return patch === undefined ? [] : [patch];
};

const valuesIn = (bytes: Buffer): readonly unknown[] =>
  parseTexts(bytes.toString('utf8')).map(({ value }) => value);

export const textsIn = (value: Manifest, field: string): readonly string[] =>
  listAt(value, field).filter((one) => typeof one === 'string');

/** `envs` of a generator, and the older `env`. */
export const envFilesOf = (generator: Manifest): readonly string[] =>
  [textsIn(generator, 'envs'), textAt(generator, 'env') ?? []].flat();

/** The keys of a file of `key=value` lines, as Kustomize reads it. */
const keysOfEnv = (text: string): readonly string[] =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => line.trimStart())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('=')[0] ?? '');
