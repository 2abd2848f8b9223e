import { Document, isAlias, isMap, isNode, isSeq, type Node, visit, type YAMLMap } from 'yaml';
import { FleetError } from '#bundles/errors';
import { type ParsedDocument, placeOf } from '../yaml/parse-documents.ts';
import { sopsMac } from './sops-mac.ts';

/** Upper bound on Lists nested in Lists. */
const MAX_DEPTH = 8;

/**
 * Splits a List into its objects, each a document with its place in the file, as kubectl does. An item without apiVersion
 * and kind gets them from the List: a ConfigMapList holds ConfigMaps. Any other document is returned unchanged. Mistakes are
 * added to `problems` as OBJECT_INVALID.
 */
export const flattenList = (
  parsed: ParsedDocument,
  problems: FleetError[],
  depth = 0,
): readonly ParsedDocument[] => {
  const kind = parsed.root.get('kind');
  const items = parsed.root.get('items', true);
  if (typeof kind !== 'string' || !kind.endsWith('List') || !isSeq(items)) return [parsed];
  const fail = (message: string, node: Node | null, hint: string): readonly ParsedDocument[] => {
    const at = placeOf(parsed.text, node, parsed.root);
    problems.push(new FleetError('OBJECT_INVALID', message, { subject: kind, at, hint }));
    return [];
  };
  const name = parsed.root.getIn(['metadata', 'name'], true);
  if (kind !== 'List' && items.items.length === 0 && isNode(name))
    return fail(
      'Kubernetes and Kustomize take an object with items for a list, and nothing is left of one that is empty',
      name,
      'If it is a list, remove it or its name; a kind of its own needs another field for its items',
    );
  if (depth === MAX_DEPTH)
    return fail('these lists nest too deep', parsed.root, 'Write the items as documents of their own');
  if (sopsMac({ parsed }) !== undefined)
    return fail(
      'an encrypted list cannot be taken apart: its sum is over all of it',
      parsed.root,
      'Write its items as documents of their own, with --- between them, and encrypt each file',
    );
  return items.items.flatMap((item) => {
    const node = isNode(item) ? item : null;
    if (!isMap(node)) return fail('an item of this list is not an object', node, 'Remove it');
    if (refersOutside(node))
      return fail(
        'an item of this list refers to an anchor outside of it',
        node,
        'Write out what the alias stands for',
      );
    return flattenList(asDocument(node, kind, parsed), problems, depth + 1);
  });
};

const asDocument = (
  item: YAMLMap,
  listKind: string,
  { root, text, document: list }: ParsedDocument,
): ParsedDocument => {
  const document = new Document(undefined, { version: '1.2' });
  document.schema = list.schema;
  document.contents = item as never;
  const apiVersion = root.get('apiVersion');
  const kind = listKind.slice(0, -'List'.length);
  if (kind !== '' && !item.has('kind') && !item.has('apiVersion')) {
    item.items.unshift(
      document.createPair('apiVersion', apiVersion) as never,
      document.createPair('kind', kind) as never,
    );
  }
  return { root: item, document, text };
};

/** An alias refers to the last anchor before it, which may be in another item. */
const refersOutside = (item: YAMLMap): boolean => {
  const anchors = new Set<string>();
  let outside = false;
  visit(item, {
    Node: (_key, node) => {
      if (isAlias(node)) outside ||= !anchors.has(node.source);
      else if ('anchor' in node && typeof node.anchor === 'string') anchors.add(node.anchor);
    },
  });
  return outside;
};
