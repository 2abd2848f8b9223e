import { isMap, isScalar, type Node } from 'yaml';
import { FleetError } from '#bundles/errors';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import { placeOf } from '../../model/yaml/parse-documents.ts';
import { isOwnGroup } from '../../plan/validate/kubernetes/removed-apis.ts';
import { looksLikeImage } from '../../model/images/image-reference.ts';
import { children, resolveAlias } from '../../model/json-path.ts';

/** Names of fields in custom kinds that usually hold an image, or its parts. */
const IMAGE_KEY = /^(?:image|imageName|imageRef|dockerImage|containerImage)$|[a-z]Image$/;

/** Upper bound on advice for one object. */
const SHOWN = 10;

/**
 * Advice about possible images in a kind without image fields: a site cannot pull an image that is not in the bundle. One entry
 * for each field, regardless of the index in a list.
 */
export const findSuspects = (
  object: KubernetesObject,
  group: string,
  isKnown: (owner: object, key: string | number) => boolean,
): readonly FleetError[] => {
  if (isOwnGroup(group)) return [];
  const { root, document, text } = object.parsed;
  const found = new Map<string, FleetError>();
  const visit = (node: Node | null, path: string, seen: Set<unknown>): void => {
    const value = resolveAlias(node, document);
    if (seen.has(value) || found.size >= SHOWN) return;
    seen.add(value);
    for (const child of children(value, path, document)) {
      const { key, owner } = child;
      if (isKnown(owner, key)) continue;
      const own = resolveAlias(child.node, document);
      const image = typeof key === 'string' && IMAGE_KEY.test(key) ? imageIn(own) : undefined;
      if (image !== undefined) {
        const field = `$.${child.path.replace(/\[\d+\]/g, '[*]')}`;
        if (!found.has(field))
          found.set(
            field,
            new FleetError(
              'IMAGE_UNKNOWN',
              `${child.path} may be the image ${image}, and it is not carried along`,
              {
                subject: `${object.kind} ${object.name}`,
                at: placeOf(text, child.node, root),
                hint: `Name ${field} of kind ${object.kind} in an ImageFields object, under fields or under notImages (docs/images.md)`,
              },
            ),
          );
      } else if (typeof own === 'object') visit(child.node, child.path, seen);
    }
  };
  visit(root, '', new Set());
  return [...found.values()];
};

/** Text, or a mapping with a repository as in the values of charts. */
const imageIn = (value: unknown): string | undefined => {
  if (isScalar(value))
    return typeof value.value === 'string' && looksLikeImage(value.value) ? value.value : undefined;
  if (!isMap(value)) return undefined;
  const repository = value.get('repository');
  return typeof repository === 'string' && repository !== '' ? repository : undefined;
};
