import { isMap, isScalar, isSeq } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import { placeOf } from '../../model/yaml/parse-documents.ts';
import { cutImages, type ImageText } from '../../model/images/image-reference.ts';
import type { ImageRules } from './image-rules.ts';
import { type FoundNode, resolveAlias } from '../../model/json-path.ts';

/** An image in an object, with a function that replaces it. */
export type ImageField = {
  /** As its author wrote it. */
  readonly image: string;
  readonly at: Place;
  /** imagePullPolicy of the container that runs it. */
  readonly pullPolicy: string | undefined;
  /** @param pinned 'host/repo@sha256:...' */
  readonly pin: (pinned: string) => void;
};

export type Search = {
  readonly object: KubernetesObject;
  readonly rules: ImageRules;
  readonly images: ImageField[];
  readonly problems: FleetError[];
  /** Adds the image or images of a field, once for each field. */
  readonly add: (field: FoundNode, pullPolicy?: unknown) => void;
  readonly addImage: (image: string, field: FoundNode, pin: ImageField['pin']) => void;
  readonly refuse: (field: FoundNode, value: unknown) => void;
  readonly leaveOut: (field: FoundNode) => void;
  /** True if the field is known to be an image, or declared not to be one. */
  readonly isKnown: (owner: object, key: string | number) => boolean;
};

export const createSearch = (object: KubernetesObject, rules: ImageRules): Search => {
  const { text, root, document } = object.parsed;
  const images: ImageField[] = [];
  const problems: FleetError[] = [];
  const known = new Map<object, Set<string | number>>();
  const isKnown: Search['isKnown'] = (owner, key) => known.get(owner)?.has(key) === true;
  const know = ({ owner, key }: Pick<FoundNode, 'owner' | 'key'>): boolean => {
    const keys = known.get(owner) ?? new Set();
    known.set(owner, keys);
    return !keys.has(key) && keys.add(key) !== undefined;
  };
  const refuse: Search['refuse'] = ({ node, path }, value) => {
    problems.push(
      new FleetError('OBJECT_INVALID', `${path} should name an image and is ${shown(value)}`, {
        subject: `${object.kind} ${object.name}`,
        at: placeOf(text, node, root),
        hint: 'Write an image there, like host/repository:tag; where it is not an image, list it under notImages of an ImageFields object (docs/images.md)',
      }),
    );
  };
  return {
    object,
    rules,
    images,
    problems,
    refuse,
    isKnown,
    leaveOut: know,
    add: (field, pullPolicy) => {
      const { node, owner, key } = field;
      const value = textOf(resolveAlias(node, document));
      if (value === '' || value === undefined) return;
      if (!know(field)) return;
      const cut = typeof value === 'string' ? cutImages(value) : undefined;
      if (!cut) {
        refuse(field, value);
        return;
      }
      const now = [...cut];
      for (const [index, part] of cut.entries()) {
        if (typeof part === 'string') continue;
        images.push({
          image: part.image,
          at: placeOf(text, node, root),
          pullPolicy: typeof pullPolicy === 'string' ? pullPolicy : undefined,
          pin: (pinned) => {
            now[index] = { image: pinned };
            owner.set(key, joined(now));
          },
        });
      }
    },
    addImage: (image, { node }, pin) => {
      images.push({ image, at: placeOf(text, node, root), pullPolicy: undefined, pin });
    },
  };
};

const joined = (parts: ImageText): string =>
  parts.map((part) => (typeof part === 'string' ? part : part.image)).join('');

/** Text of a scalar; undefined for null; anything else as it is, for a message. */
export const textOf = (value: unknown): unknown => {
  if (value === null || (isScalar(value) && value.value === null)) return undefined;
  return isScalar(value) && typeof value.value === 'string' ? value.value : value;
};

const shown = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (isMap(value)) return 'a mapping';
  if (isSeq(value)) return 'a list';
  return isScalar(value) ? (value.source ?? String(value.value)) : 'empty';
};
