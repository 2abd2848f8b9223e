import { isMap, isScalar, isSeq, Pair, Scalar, YAMLMap } from 'yaml';
import { FleetError } from '#bundles/errors';
import type { ObjectChange, SourceFile } from '../sources/read-files.ts';
import { mergeKeys } from '../../model/yaml/merge-keys.ts';
import { type ParsedDocument, placeOf } from '../../model/yaml/parse-documents.ts';
import { childOf } from '../../model/yaml/shape.ts';

/** Kinds that Kustomize does not rename. */
const NEVER_RENAMED: ReadonlySet<string> = new Set(['CustomResourceDefinition', 'Namespace', 'APIService']);

/**
 * The objects of a document as Flux would apply them: with `<<` merged, Lists split into items, and the changes of the
 * kustomizations above applied. Modifies the document.
 */
export const unfoldDocument = (
  document: ParsedDocument,
  { changes = [] }: Pick<SourceFile, 'changes'>,
  problems: FleetError[],
): readonly ParsedDocument[] => {
  if (!mergeKeys(document.root, document.document)) {
    const at = placeOf(document.text, document.root);
    problems.push(
      new FleetError('YAML_SYNTAX', 'the merges (<<) of this YAML add too much to be read', { at }),
    );
    return [];
  }
  const objects = itemsOf(document);
  for (const { root } of objects) for (const change of changes) apply(change, root);
  return objects;
};

const itemsOf = (document: ParsedDocument): readonly ParsedDocument[] => {
  const kind = textOf(document.root, 'kind') ?? '';
  const items = childOf(document.root, 'items');
  if (!kind.endsWith('List') || !isSeq(items)) return [document];
  return items.items.flatMap((root) => (isMap(root) ? itemsOf({ ...document, root }) : []));
};

const apply = (change: ObjectChange, root: YAMLMap): void => {
  const metadata = childOf(root, 'metadata');
  if (!isMap(metadata)) return;
  const name = childOf(metadata, 'name');
  if (isScalar(name) && typeof name.value === 'string' && !NEVER_RENAMED.has(textOf(root, 'kind') ?? ''))
    name.value = `${change.namePrefix}${name.value}${change.nameSuffix}`;
  setAll(metadata, 'labels', change.labels);
  setAll(metadata, 'annotations', change.annotations);
};

const setAll = (metadata: YAMLMap, field: string, values: Readonly<Record<string, string>>): void => {
  if (Object.keys(values).length === 0) return;
  const known = childOf(metadata, field);
  // Replaces the mapping: aliases may share it between objects.
  const items = isMap(known)
    ? known.items.filter(({ key }) => !isScalar(key) || !Object.hasOwn(values, String(key.value)))
    : [];
  const map = new YAMLMap();
  map.items = [
    ...items,
    ...Object.entries(values).map(([key, value]) => new Pair(new Scalar(key), quoted(value))),
  ];
  if (isMap(known) && known.range) map.range = known.range;
  metadata.set(field, map);
};

const quoted = (value: string): Scalar<string> => {
  const scalar = new Scalar(value);
  scalar.type = 'QUOTE_DOUBLE';
  return scalar;
};

const textOf = (map: YAMLMap, key: string): string | undefined => {
  const node = childOf(map, key);
  return isScalar(node) && typeof node.value === 'string' ? node.value : undefined;
};
