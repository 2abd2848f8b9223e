import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Place } from '#bundles/errors';
import { yamlFault } from '#bundles/json/yaml-fault';
import { placeOf, readValue } from './parse-text.ts';

export type EditableDocuments = {
  /** Empty for a file with a mistake. */
  readonly documents: readonly Document.Parsed[];
  /** A mapping of the file repeats a key. The documents keep only the last entry, as Helm does; the bytes of the file still have the others. */
  readonly hadRepeatedKeys: boolean;
  readonly mistake?: YamlMistake;
};

export type YamlMistake = { readonly message: string; readonly at: Place };

/** The documents of a YAML file, to change and to write with their comments. */
export const readDocuments = (bytes: Buffer, file: string): EditableDocuments => {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(bytes.toString('utf8'), {
    lineCounter,
    prettyErrors: false,
    logLevel: 'error',
    uniqueKeys: false,
  });
  if (!Array.isArray(documents)) return { documents: [], hadRepeatedKeys: false };
  const hadRepeatedKeys = documents.map(dropRepeatedKeys).includes(true);
  const [fault] = documents.flatMap(faultsIn);
  if (fault === undefined) return { documents, hadRepeatedKeys };
  const at = placeOf(fault.offset, lineCounter, file);
  return { documents: [], hadRepeatedKeys: false, mistake: { message: fault.message, at } };
};

/** Leaves the last of equal keys. Merge keys (`<<`) may be repeated. */
const dropRepeatedKeys = (document: Document.Parsed): boolean => {
  let isChanged = false;
  visit(document, {
    Map: (_, map) => {
      const last = new Map(map.items.map((pair) => [keyOf(pair), pair]));
      const kept = map.items.filter((pair) => isMerge(pair) || last.get(keyOf(pair)) === pair);
      if (kept.length === map.items.length) return;
      map.items = kept;
      isChanged = true;
    },
  });
  return isChanged;
};

type Entry = YAMLMap['items'][number];

/** Keys that are not scalars equal no other. */
const keyOf = ({ key }: Entry): unknown => (isScalar(key) ? key.value : key);

/** The parser reads `<<` as any key, because with merge keys it would write a quoted one without its quotation marks. */
const isMerge = ({ key }: Entry): boolean => isScalar(key) && key.value === '<<' && key.type === 'PLAIN';

/** Values of a merge key: a mapping, or a list of them. */
const mergedIn = (value: unknown): readonly unknown[] => (isSeq(value) ? value.items : [value]);

type Fault = { readonly message: string; readonly offset: number };

/** Errors of syntax, and those of aliases and merge keys, which the library finds only when it resolves or writes them, and throws. */
const faultsIn = (document: Document.Parsed): readonly Fault[] => {
  const faults: Fault[] = document.errors.map(({ message, pos }) => ({
    message: yamlFault(message),
    offset: pos[0],
  }));
  const anchors = new Set<string>();
  visit(document, {
    Node: (_, node) => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
      } else if (!anchors.has(node.source))
        faults.push({ message: 'an alias has no anchor before it', offset: node.range?.[0] ?? 0 });
    },
  });
  if (faults.length > 0) return faults;
  const read = readValue(document);
  return 'fault' in read ? [{ message: read.fault, offset: document.range[0] }] : mergesWithoutMap(document);
};

const mergesWithoutMap = (document: Document.Parsed): readonly Fault[] => {
  const resolved = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  const faults: Fault[] = [];
  visit(document, {
    Pair: (_, pair) => {
      if (isMerge(pair) && !mergedIn(resolved(pair.value)).every((one) => isMap(resolved(one))))
        faults.push({ message: 'a merge key has no mapping', offset: document.range[0] });
    },
  });
  return faults;
};

/**
 * Puts what aliases and merge keys (`<<`) stand for in their places, so that an edit finds every field where it is, and removes no anchor that
 * another place refers to. For documents of readDocuments, whose aliases are few.
 */
export const inlineAliases = (document: Document.Parsed): void => {
  visit(document, {
    // With its anchors, the copy would be what later aliases resolve to.
    Alias: (_, alias) => withoutAnchors(alias.resolve(document)?.clone() as Node | undefined),
  });
  withoutAnchors(document);
  visit(document, { Map: (_, map) => inlineMerges(map) });
};

const withoutAnchors = <T extends Node | Document | undefined>(node: T): T => {
  if (node)
    visit(node, {
      Value: (_, one) => {
        delete one.anchor;
      },
    });
  return node;
};

/** Fields of the mapping itself count before those of a merge key, and those of the first before later ones. */
const inlineMerges = (map: YAMLMap): void => {
  for (let at = map.items.findIndex(isMerge); at !== -1; at = map.items.findIndex(isMerge))
    for (const source of map.items.splice(at, 1).flatMap(({ value }) => mergedIn(value)))
      if (isMap(source))
        map.items.push(
          ...source.items.filter(
            (one) => isMerge(one) || !map.items.some((own) => keyOf(own) === keyOf(one)),
          ),
        );
};

export const documentsOf = (bytes: Buffer): readonly Document.Parsed[] => readDocuments(bytes, '').documents;

export const textOf = (documents: readonly Document.Parsed[]): Buffer =>
  Buffer.from(documents.map((one) => one.toString({ lineWidth: 0 })).join(''));
