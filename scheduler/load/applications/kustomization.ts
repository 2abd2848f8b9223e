import { isUtf8 } from 'node:buffer';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
  visit,
} from 'yaml';
import { defined } from '#bundles/defined';
import { FleetError, type Place } from '#bundles/errors';
import { yamlFault } from '#bundles/json/yaml-fault';
import { isRemote } from '../sources/kustomization-file.ts';

/** Fields that may name folders, each with a kustomization. */
const FOLDER_FIELDS = ['resources', 'bases', 'components'] as const;

/** Fields that name settings of Kustomize's generators and transformers: files, folders, or inline YAML objects. */
const SETTINGS_FIELDS = ['generators', 'transformers', 'validators'] as const;

/** Fields that make Kustomize load or run something other than files. */
const REFUSED_FIELDS = ['helmCharts', 'helmChartInflationGenerator', 'helmGlobals'] as const;

/** A kustomization with only these fields needs no tool: its resources are taken as they are. */
const LISTING_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'resources']);

export type Kustomization = {
  /** Path in the repository: 'overlays/prod/kustomization.yaml'. */
  readonly file: string;
  /** Files and folders, as written. */
  readonly entries: readonly string[];
  /**
   * Files and folders with settings of generators and transformers, as written. Inline settings are checked here and not
   * listed.
   */
  readonly settings: readonly string[];
  /** Whether it does nothing but list resources. */
  readonly listing: boolean;
};

/**
 * Parses a kustomization and refuses references outside of the repository: what is fetched over the network may change.
 * Field names are matched without regard to case, as in Kustomize.
 * @param shown name of the file in messages
 * @throws FleetError YAML_SYNTAX, OBJECT_INVALID, FIELD_INVALID
 */
export const readKustomization = (file: string, shown: string, bytes: Buffer): Kustomization => {
  const lines = new LineCounter();
  const document = firstDocument(textIn(shown, bytes), shown, lines);
  const { contents } = document;
  if (!isMap(contents))
    throw new FleetError('OBJECT_INVALID', 'this is not a kustomization', { at: { file: shown } });
  const pairs = contents.items.map(({ key, value }) => ({ name: textOf(key) ?? '', key, value }));
  const named = (field: string) => pairs.filter(({ name }) => name.toLowerCase() === field.toLowerCase());
  const at = (node: unknown): Place => placeIn(shown, lines, node);
  for (const { name, key } of REFUSED_FIELDS.flatMap(named)) {
    throw new FleetError('FIELD_INVALID', `${name} is refused: it would fetch a chart`, {
      at: at(key),
      hint: 'Make the chart a deployment target of its own, of type helm',
    });
  }
  refuseAddresses(document, at);
  const listed = (fields: readonly string[]): readonly Scalar[] =>
    fields
      .flatMap(named)
      .flatMap(({ value }) => (isSeq(value) ? value.items : []))
      .filter((item) => isScalar(item));
  const settings = listed(SETTINGS_FIELDS).map((item) => ({ item, text: String(item.value) }));
  const inPlace = settings.filter(({ text }) => holdsObject(text));
  for (const { item, text } of inPlace) checkSettings(text, () => at(item));
  return {
    file,
    entries: listed(FOLDER_FIELDS).map(({ value }) => String(value)),
    settings: settings.filter(({ text }) => !holdsObject(text)).map(({ text }) => text),
    listing: pairs.every(({ name }) => LISTING_FIELDS.has(name)),
  };
};

/** Kustomize reads the first document alone, and is silent about the others (5.8.1). */
const firstDocument = (text: string, file: string, lineCounter: LineCounter): Document.Parsed => {
  const documents: readonly Document.Parsed[] = [
    ...parseAllDocuments(text, { prettyErrors: false, lineCounter }),
  ];
  for (const document of documents) refuseMistakes(document, { file });
  const [first, ...others] = documents;
  if (!first) throw new FleetError('OBJECT_INVALID', 'this kustomization is empty', { at: { file } });
  const second = others.find(({ contents }) => !isScalar(contents) || contents.value !== null);
  if (second)
    throw new FleetError('OBJECT_INVALID', 'this kustomization has a second YAML document', {
      at: placeIn(file, lineCounter, second.contents),
      hint: 'Kustomize reads the first document alone: merge the two, or move the second into a file of its own',
    });
  return first;
};

/**
 * Refuses a file with settings of generators and transformers that contains an address.
 * @throws FleetError YAML_SYNTAX, FIELD_INVALID
 */
export const checkSettingsFile = (shown: string, bytes: Buffer): void => {
  const lines = new LineCounter();
  checkSettings(textIn(shown, bytes), (node) => placeIn(shown, lines, node), lines);
};

const checkSettings = (text: string, at: (node: unknown) => Place, lineCounter?: LineCounter): void => {
  const documents = parseAllDocuments(text, defined({ prettyErrors: false, lineCounter }));
  for (const document of Array.isArray(documents) ? documents : []) {
    refuseMistakes(document, at(undefined));
    refuseAddresses(document, at);
  }
};

/** Go's YAML reader also accepts UTF-16, in which an address would not be found. */
const textIn = (shown: string, bytes: Buffer): string => {
  if (isUtf8(bytes) && !bytes.includes(0)) return bytes.toString('utf8');
  throw new FleetError('YAML_SYNTAX', 'this is not YAML in UTF-8', { at: { file: shown } });
};

const refuseMistakes = ({ errors: [mistake] }: Document.Parsed, at: Place): void => {
  if (mistake) throw new FleetError('YAML_SYNTAX', `this is not YAML: ${yamlFault(mistake.message)}`, { at });
};

/** Kustomize treats an entry that parses as a YAML object as inline settings, on one line or several. */
const holdsObject = (text: string): boolean => {
  const [first] = parseAllDocuments(text, { prettyErrors: false });
  return first !== undefined && (isMap(first.contents) || isSeq(first.contents));
};

/** Fields whose values are not paths; addresses are allowed in them. */
const VALUES: ReadonlySet<string> = new Set([
  'literals',
  'patch',
  'commonAnnotations',
  'commonLabels',
  'annotations',
  'labels',
  'metadata',
  'images',
  'imageTag',
  'jsonOp',
  'options',
]);

/** Tags that do not change a text. For Go's YAML reader `!!binary` decodes base64. */
const PLAIN_TAG = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/;

/**
 * Any other text may become a path that Kustomize loads, so it must not be an address, neither as a whole nor after `key=`.
 */
const refuseAddresses = (document: Document | Document.Parsed, at: (node: unknown) => Place): void => {
  const seen = new Set<Node>();
  const check = (node: Node | null, above: readonly Walked[]): void =>
    visit(node, {
      Pair: (_, pair) => (VALUES.has(textOf(pair.key) ?? '') ? visit.SKIP : undefined),
      Node: (_, node, path) => {
        const field = fieldOf([...above, ...path]);
        if (node.tag !== undefined && !PLAIN_TAG.test(node.tag))
          throw new FleetError('FIELD_INVALID', `${field} has the tag ${node.tag}`, {
            at: at(node),
            hint: 'Write the text without a tag',
          });
        if (isScalar(node)) refuseAddress(node.value, field, at(node));
        if (!isAlias(node)) return;
        const meant = node.resolve(document);
        if (!meant || seen.has(meant)) return;
        seen.add(meant);
        check(meant, [...above, ...path]);
      },
    });
  check(document.contents, []);
};

type Walked = Document | Node | Pair;

const refuseAddress = (value: unknown, field: string, at: Place): void => {
  if (typeof value !== 'string') return;
  const address = [value, value.slice(value.indexOf('=') + 1)].find((one) => isRemote(one.trim()));
  if (address === undefined) return;
  throw new FleetError(
    'FIELD_INVALID',
    `${field} names ${address.trim()}, which is outside of the repository`,
    { at, hint: 'Copy it into the repository: nothing is fetched over the network while rendering' },
  );
};

const fieldOf = (path: readonly Walked[]): string =>
  path.flatMap((one) => ('key' in one ? [textOf(one.key) ?? '?'] : [])).join('.') || 'the kustomization';

const textOf = (node: unknown): string | undefined => (isScalar(node) ? String(node.value) : undefined);

const placeIn = (file: string, lines: LineCounter, node: unknown): Place => {
  const start = (node as Node | null)?.range?.[0];
  if (start === undefined) return { file };
  const { line, col } = lines.linePos(start);
  return { file, line, column: col };
};
