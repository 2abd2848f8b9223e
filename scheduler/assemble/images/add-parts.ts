import { isMap, isScalar, type Node, type YAMLMap } from 'yaml';
import type { ImageParts } from '../../model/images/image-fields.ts';
import { isImageReference } from '../../model/images/image-reference.ts';
import { type Search, textOf } from './image-search.ts';
import { type FoundNode, resolveAlias } from '../../model/json-path.ts';

/** Reads a mapping as an image in parts (registry, repository, tag). */
export const addParts = (found: FoundNode, parts: ImageParts, search: Search): void => {
  const { document } = search.object.parsed;
  const map = resolveAlias(found.node, document);
  if (map === null || map === undefined) return;
  if (!isMap(map)) {
    search.refuse(found, textOf(map));
    return;
  }
  const part = (key: string | undefined): string => {
    const value = key === undefined ? undefined : resolveAlias(map.get(key, true), document);
    // A tag like 1.27 may be written without quotes.
    if (isScalar(value) && value.value !== null) {
      return typeof value.value === 'string' ? value.value : (value.source ?? '');
    }
    return '';
  };
  const keys = [parts.registry, parts.repository, parts.tag, parts.digest] as const;
  const [registry = '', repository = '', tag = '', digest = ''] = keys.map(part);
  search.leaveOut(found);
  if (repository === '') return;
  const image = `${registry && `${registry}/`}${repository}${tag && `:${tag}`}${digest && `@${digest}`}`;
  if (!isImageReference(image)) {
    search.refuse(found, image);
    return;
  }
  search.addImage(image, { ...found, node: map.get(parts.repository, true) as Node }, (pinned) =>
    setParts(map, parts, pinned, tag),
  );
};

const setParts = (map: YAMLMap, parts: ImageParts, pinned: string, tag: string): void => {
  const [repository = '', digest = ''] = pinned.split('@');
  const slash = repository.indexOf('/');
  if (parts.registry !== undefined) map.set(parts.registry, repository.slice(0, slash));
  map.set(parts.repository, parts.registry === undefined ? repository : repository.slice(slash + 1));
  if (parts.digest !== undefined) map.set(parts.digest, digest);
  // A template that joins repository:tag then yields repository:tag@digest, and the digest decides.
  else if (parts.tag !== undefined) map.set(parts.tag, `${tag.split('@')[0] || 'latest'}@${digest}`);
};
