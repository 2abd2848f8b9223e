import { type Document, isAlias, isScalar, LineCounter, parseAllDocuments, visit, type YAMLMap } from 'yaml';
import type { Place } from '#bundles/errors';
import { yamlFault } from '#bundles/json/yaml-fault';
import { MAX_ALIASES, placeOf } from './parse-text.ts';

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
      const kept = map.items.filter((pair) => keyOf(pair) === '<<' || last.get(keyOf(pair)) === pair);
      if (kept.length === map.items.length) return;
      map.items = kept;
      isChanged = true;
    },
  });
  return isChanged;
};

/** Keys that are not scalars equal no other. */
const keyOf = ({ key }: YAMLMap['items'][number]): unknown => (isScalar(key) ? key.value : key);

type Fault = { readonly message: string; readonly offset: number };

/** Errors of syntax, and aliases without an anchor, which the library finds only when it resolves or writes them, and throws. */
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
  return faults.length > 0 ? faults : tooManyAliases(document);
};

const tooManyAliases = (document: Document.Parsed): readonly Fault[] => {
  try {
    document.toJS({ maxAliasCount: MAX_ALIASES });
    return [];
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return [{ message: 'its aliases repeat too much', offset: document.range[0] }];
  }
};

export const documentsOf = (bytes: Buffer): readonly Document.Parsed[] => readDocuments(bytes, '').documents;

export const textOf = (documents: readonly Document.Parsed[]): Buffer =>
  Buffer.from(documents.map((one) => one.toString({ lineWidth: 0 })).join(''));
