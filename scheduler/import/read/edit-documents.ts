import {
  type Document,
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
import { LIKE_KUSTOMIZE, placeOf, readValue } from './parse-text.ts';

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
    ...LIKE_KUSTOMIZE,
    lineCounter,
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
  const anchors = new Map<string, Node>();
  const targets = new Map<unknown, Node>();
  visit(document, {
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
    Alias: (_, alias) => {
      const target = anchors.get(alias.source);
      if (target) targets.set(alias, target);
      else faults.push({ message: 'an alias has no anchor before it', offset: alias.range?.[0] ?? 0 });
    },
  });
  if (faults.length > 0) return faults;
  const read = readValue(document);
  return 'fault' in read
    ? [{ message: read.fault, offset: document.range[0] }]
    : mergesWithoutMap(document, targets);
};

/** @param targets the node that each alias refers to */
const mergesWithoutMap = (
  document: Document.Parsed,
  targets: ReadonlyMap<unknown, Node>,
): readonly Fault[] => {
  const resolved = (node: unknown): unknown => targets.get(node) ?? node;
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
 * Replaces aliases and merge keys (`<<`) by copies of what they refer to, and removes the anchors: an edit then finds every field in its own
 * place, and cannot remove an anchor that an alias elsewhere needs. For documents that readDocuments returned.
 */
export const inlineAliases = (document: Document.Parsed): void => {
  const anchors = new Map<string, Node>();
  visit(document, {
    // An anchored node comes before its aliases, so its copies have neither anchors nor aliases any more.
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      delete node.anchor;
    },
    Alias: (_, alias) => anchors.get(alias.source)?.clone() as Node | undefined,
  });
  visit(document, { Map: (_, map) => inlineMerges(map) });
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
