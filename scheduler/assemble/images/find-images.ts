import { type Document, isMap, isSeq, type YAMLMap } from 'yaml';
import type { FleetError } from '#bundles/errors';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import { addParts } from './add-parts.ts';
import { findSuspects } from './find-suspects.ts';
import type { ImageRules } from './image-rules.ts';
import { type ImageField, createSearch, type Search, textOf } from './image-search.ts';
import { children, type FoundNode, resolveAlias, selectNodes } from '../../model/json-path.ts';

export type FoundImages = {
  readonly images: readonly ImageField[];
  /** Fields that must hold an image but hold no image name. */
  readonly problems: readonly FleetError[];
  /** Values that look like images but are in no image field, as advice. */
  readonly suspects: readonly FleetError[];
};

const CONTAINER_LISTS: ReadonlySet<string | number> = new Set([
  'containers',
  'initContainers',
  'ephemeralContainers',
]);

/**
 * Finds every image of an object: containers and image volumes of pod templates at any depth (in all kinds, including custom
 * ones), and the fields of the rules. The object changes only when an image is pinned.
 */
export const findImages = (object: KubernetesObject, rules: ImageRules): FoundImages => {
  const search = createSearch(object, rules);
  const { root, document } = object.parsed;
  const group = object.apiVersion.includes('/') ? (object.apiVersion.split('/')[0] ?? '') : '';
  for (const { paths } of rules.notImagesOf(group, object.kind))
    for (const path of paths) for (const found of selectNodes(root, document, path)) search.leaveOut(found);
  visit({ node: root, owner: root, key: '', path: '' }, search, new Set());
  for (const { paths, parts } of rules.fieldsOf(group, object.kind)) {
    for (const path of paths) for (const found of selectNodes(root, document, path)) search.add(found);
    for (const one of parts)
      for (const found of selectNodes(root, document, one.in)) addParts(found, one, search);
  }
  return {
    images: search.images,
    problems: search.problems,
    suspects: findSuspects(object, group, search.isKnown),
  };
};

/** @param seen visited nodes: an alias would visit a node again, or in a cycle */
const visit = (field: FoundNode, search: Search, seen: Set<unknown>): void => {
  const { document } = search.object.parsed;
  const value = resolveAlias(field.node, document);
  if ((!isMap(value) && !isSeq(value)) || seen.has(value)) return;
  seen.add(value);
  for (const child of children(value, field.path, document)) {
    const { key } = child;
    if (CONTAINER_LISTS.has(key))
      for (const one of children(child.node, child.path, document)) addContainer(one, search);
    else if (key === 'volumes')
      for (const one of children(child.node, child.path, document)) addVolume(one, search);
    else if (key === 'metadata') addAnnotations(child, search);
    visit(child, search, seen);
  }
};

/** A field of a mapping, or of its merge key `<<`, as Kubernetes reads it. A pinned image is written into the mapping itself. */
const fieldOf = (
  map: YAMLMap,
  key: string,
  document: Document,
  path: string,
  depth = 0,
): FoundNode | undefined => {
  const all = children(map, path, document);
  const own = all.find((one) => one.key === key);
  if (own) return own;
  const merged = resolveAlias(all.find((one) => one.key === '<<')?.node, document);
  const sources = isSeq(merged) ? merged.items.map((item) => resolveAlias(item, document)) : [merged];
  for (const source of depth < 8 ? sources : []) {
    const found = isMap(source) ? fieldOf(source, key, document, path, depth + 1) : undefined;
    if (found) return { ...found, owner: map };
  }
  return undefined;
};

const addContainer = (one: FoundNode, search: Search): void => {
  const { document } = search.object.parsed;
  const container = resolveAlias(one.node, document);
  if (!isMap(container)) return;
  const image = fieldOf(container, 'image', document, one.path);
  if (image) search.add(image, container.get('imagePullPolicy'));
  for (const variable of children(
    fieldOf(container, 'env', document, one.path)?.node,
    `${one.path}.env`,
    document,
  )) {
    const map = resolveAlias(variable.node, document);
    if (!isMap(map)) continue;
    const name = map.get('name');
    const value = fieldOf(map, 'value', document, variable.path);
    if (value && typeof name === 'string' && search.rules.isImageEnv(name)) search.add(value);
  }
  for (const list of ['command', 'args']) addOptions(fieldOf(container, list, document, one.path), search);
};

/** `--option=image`, or `--option` and the image after it. */
const addOptions = (list: FoundNode | undefined, search: Search): void => {
  const { document } = search.object.parsed;
  const words = list ? children(list.node, list.path, document) : [];
  for (const [at, word] of words.entries()) {
    const text = textOf(resolveAlias(word.node, document));
    if (typeof text !== 'string' || !text.startsWith('-')) continue;
    const equals = text.indexOf('=');
    if (!search.rules.isImageOption(equals === -1 ? text : text.slice(0, equals))) continue;
    const next = equals === -1 ? words[at + 1] : word;
    if (next) search.add(next);
  }
};

const addVolume = (one: FoundNode, search: Search): void => {
  const { document } = search.object.parsed;
  const volume = resolveAlias(one.node, document);
  const image = isMap(volume) ? resolveAlias(volume.get('image', true), document) : undefined;
  const reference = isMap(image) ? fieldOf(image, 'reference', document, `${one.path}.image`) : undefined;
  if (reference && isMap(image)) search.add(reference, image.get('pullPolicy'));
};

const addAnnotations = (metadata: FoundNode, search: Search): void => {
  const { isImageAnnotation } = search.rules;
  const { document } = search.object.parsed;
  const map = isImageAnnotation && resolveAlias(metadata.node, document);
  const annotations = isMap(map) ? fieldOf(map, 'annotations', document, metadata.path) : undefined;
  for (const one of children(annotations?.node, `${metadata.path}.annotations`, document))
    if (isImageAnnotation?.(String(one.key))) search.add(one);
};
