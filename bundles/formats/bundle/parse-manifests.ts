import { isRecord } from '../../is-record.ts';
import { isUtf8 } from 'node:buffer';
import { Composer, type Document, LineCounter, Parser, type ScalarTag, type Tags } from 'yaml';
import { compareBytes } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { isManifest } from './is-manifest.ts';
import { yamlFault } from '../../json/yaml-fault.ts';
import { storedNumber } from '../../json/stored-number.ts';

/** One YAML document of a package as plain data, and its place in the package. */
export type ParsedDocument = {
  readonly file: string;
  /** Zero-based among all documents of the file, empty ones included, as site inputs count them. */
  readonly index: number;
  readonly value: { readonly [field: string]: unknown };
};

/** The booleans of YAML 1.2 and Kustomize, where `y`, `on` and `no` are text. */
const BOOLEAN: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  identify: (value) => typeof value === 'boolean',
  test: /^(?:true|True|TRUE|false|False|FALSE)$/,
  resolve: (text) => text.toLowerCase() === 'true',
};

/** The beginning of the message for a number that the API server cannot store. */
const NO_NUMBER = 'number: ';

const numberTag = (tag: 'int' | 'float'): ScalarTag => ({
  tag: `tag:yaml.org,2002:${tag}`,
  default: true,
  identify: (value) => typeof value === 'number' || typeof value === 'bigint',
  test: /^(?:[-+]_*)?[.\d]/,
  resolve: (text, onError) => {
    const value = storedNumber(text);
    if (typeof value === 'object') onError(`${NO_NUMBER}${value.unsent}`);
    return typeof value === 'object' ? text : value;
  },
});

/**
 * Types scalars as Kustomize, Flux and kubectl do: numbers as in YAML 1.1 (`0644` is octal), booleans as in YAML 1.2; timestamps and
 * base 60 numbers stay text.
 */
const customTags = (tags: Tags): Tags => [
  BOOLEAN,
  numberTag('int'),
  numberTag('float'),
  ...tags.filter((tag) => typeof tag === 'string' || !YAML_1_1_TAGS.has(tag.tag)),
];

const YAML_1_1_TAGS = new Set(
  ['timestamp', 'bool', 'int', 'float'].map((name) => `tag:yaml.org,2002:${name}`),
);

export const YAML_OPTIONS = {
  version: '1.1',
  customTags,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

/**
 * Parses all documents of all YAML files of a package, sorted by path, then by index. Skips kustomization.yaml, which is
 * for other agents.
 * @throws FleetError YAML_SYNTAX, OBJECT_INVALID with file and line
 */
export const parseManifests = (files: ReadonlyMap<string, Buffer>): readonly ParsedDocument[] =>
  [...files]
    .filter(([path]) => isManifest(path))
    .toSorted(([a], [b]) => compareBytes(a, b))
    .flatMap(([path, bytes]) => parseFile(path, bytes));

const parseFile = (file: string, bytes: Buffer): readonly ParsedDocument[] => {
  if (!isUtf8(bytes)) throw new FleetError('YAML_SYNTAX', 'this is not text in UTF-8', { at: { file } });
  const lineCounter = new LineCounter();
  const parse = (document: Document, index: number): readonly ParsedDocument[] => {
    const [error] = document.errors;
    if (error) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      const at = { file, line, column: col };
      if (error.message.startsWith(NO_NUMBER)) throw noNumber(error.message.slice(NO_NUMBER.length), at);
      throw new FleetError('YAML_SYNTAX', `this is not YAML: ${yamlFault(error.message)}`, { at });
    }
    const value: unknown = plain(document, file);
    if (value === null || value === undefined) return [];
    if (isRecord(value)) return [{ file, index, value }];
    throw new FleetError('OBJECT_INVALID', `document ${index + 1} is not a Kubernetes object`, {
      at: { file },
    });
  };
  return documentsOf(file, bytes.toString('utf8'), lineCounter).flatMap(parse).toArray();
};

/** One after the other: those of a large package take a hundred megabytes together. */
const documentsOf = function* (
  file: string,
  text: string,
  { addNewLine }: LineCounter,
): Generator<Document, void> {
  try {
    yield* new Composer(YAML_OPTIONS).compose(new Parser(addNewLine).parse(text));
  } catch (cause) {
    throw new FleetError('YAML_SYNTAX', 'this YAML nests too deep to be read', { at: { file }, cause });
  }
};

const noNumber = (why: string, at: NonNullable<FleetError['at']>): FleetError =>
  new FleetError('OBJECT_INVALID', `the API server cannot store this number: ${why}`, {
    at,
    hint: 'Write it in quotes if its field takes text, or as a number that fits',
  });

/** Upper bound on resolved aliases in one document; nested aliases grow exponentially. */
export const MAX_ALIASES = 1000;

const plain = (document: Document, file: string): unknown => {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    throw new FleetError('YAML_SYNTAX', 'its aliases cannot be resolved', { at: { file }, cause });
  }
};
