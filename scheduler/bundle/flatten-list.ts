import { Document, isAlias, isMap, isNode, isSeq, type Node, visit, type YAMLMap } from 'yaml';
import { FleetError } from '#bundles/errors';
import { type ParsedDocument, placeOf } from '../platform/yaml/parse-documents.ts';
import { sopsMac } from './sops-mac.ts';

/** Lists in lists: nobody nests more than once. */
const MAX_DEPTH = 8;

/**
 * The objects of a List, each a document of its own with its place in the file, as kubectl takes a List apart: an item without
 * a kind is of the one that the list is named after. What is no list is the one document that it was.
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
    if (!isMap(node)) return fail('an item of this list is no object', node, 'Remove it');
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

/** An alias means the last anchor before it, which another item may have. */
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
