import { isMap, isScalar } from 'yaml';
import { allowsName } from '#bundles/formats/bounds/package-bounds';
import { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import { SECRET_KEYS, SECRET_SET, secretSetsIn } from '#bundles/trust/secrets/annotations';
import { isSecretKey, SECRET_KEY } from '#bundles/trust/secrets/parse';
import { findImages } from '../images/find-images.ts';
import { type ImageRules, imageRules } from '../images/image-rules.ts';
import {
  isClusterScoped,
  type KubernetesObject,
  placeOfField,
} from '../../model/kubernetes/kubernetes-object.ts';
import type { ManifestSecrets, PreparedObject } from './prepared-manifest.ts';
import { sopsMac } from '../../model/kubernetes/sops-mac.ts';
import type { ObjectBounds } from './tenancy.ts';

/** Errors that prevent an encrypted document from being applied or carried unchanged. */
export const checkEncrypted = (
  object: KubernetesObject,
  rules: ImageRules = imageRules(),
): readonly FleetError[] => {
  const { kind, name } = object;
  const subject = `${kind} ${name}`;
  const hidden = [object.apiVersion, kind, name, object.namespace].some((text) => text?.startsWith('ENC['));
  if (hidden)
    return [
      new FleetError('OBJECT_INVALID', 'its apiVersion, kind or metadata is encrypted', {
        subject,
        at: object.at,
        hint: "Encrypt the values alone: sops encrypt --encrypted-regex '^(data|stringData)$'",
      }),
    ];
  const { images, problems } = findImages(object, rules);
  const [found] = [...images, ...problems];
  if (!found) return [];
  return [
    new FleetError('OBJECT_INVALID', 'an encrypted document runs a container, whose image cannot be pinned', {
      subject,
      at: found.at,
      hint: 'Keep what is secret in a Secret, and let the container refer to it',
    }),
  ];
};

/** True if the object is filled from a sealed set. */
export const isFilled = (object: KubernetesObject): boolean =>
  annotationOf(object, SECRET_SET) !== undefined || annotationOf(object, SECRET_KEYS) !== undefined;

/** Names of the sets that an object refers to, at any depth; '' for a reference without a name. */
export const setsOf = (object: KubernetesObject): readonly string[] => {
  const filled = isFilled(object) ? [annotationOf(object, SECRET_SET) ?? ''] : [];
  return mentions(object, SECRET_SET) ? [...filled, ...secretSetsIn(plainOf(object))] : filled;
};

/**
 * Error for a set outside of the author's bounds. Also checked in encrypted documents: SOPS does not encrypt keys of
 * annotations.
 */
export const findForeignSet = (
  object: KubernetesObject,
  bounds: Pick<ObjectBounds, 'secretSets'>,
): FleetError | undefined => {
  const set = setsOf(object).find((name) => !allowsName(bounds.secretSets, name));
  if (set === undefined) return undefined;
  return new FleetError(
    'OUT_OF_BOUNDS',
    `it would be filled from the secret set ${JSON.stringify(set)}, which is not one of its own`,
    {
      subject: `${object.kind} ${object.name}`,
      at: placeOfField(object, ['metadata', 'annotations', SECRET_SET]),
      hint: `Name one of ${bounds.secretSets.join(', ')}, or let the platform grant it in its Workspace: host: {secretSets: [${set}]}`,
    },
  );
};

/** Errors of an object that is filled from a sealed set. */
export const checkFilled = (object: KubernetesObject): readonly FleetError[] => {
  const wrong = (message: string, path: readonly string[], hint: string): readonly FleetError[] => [
    new FleetError('OBJECT_INVALID', message, {
      subject: `${object.kind} ${object.name}`,
      at: placeOfField(object, path),
      hint,
    }),
  ];
  const place = (annotation: string) => ['metadata', 'annotations', annotation];
  if (object.kind !== 'Secret' || object.apiVersion !== 'v1')
    return wrong(`${SECRET_SET} is for Secrets only`, place(SECRET_SET), 'Take the annotation away');
  const set = annotationOf(object, SECRET_SET);
  if (!isName(set))
    return wrong(
      `${SECRET_SET} names no secret set`,
      place(SECRET_SET),
      'Write the name that fleet-scheduler secrets set was given: a DNS label',
    );
  const field = ['data', 'stringData'].find((one) => object.parsed.document.has(one));
  if (field !== undefined)
    return wrong(
      `a Secret that is filled from a set has no ${field} of its own`,
      [field],
      'Put the value into the set, or create another Secret for it',
    );
  const keys = annotationOf(object, SECRET_KEYS);
  if (keys === undefined || isKeyList(keys)) return [];
  return wrong(
    `${SECRET_KEYS} is not a list of keys`,
    place(SECRET_KEYS),
    'Write it like "password,ca.crt=ca": each <key>, or <key in the Secret>=<key of the set>, and each once',
  );
};

/** Parses 'a,b' or 'a=b,c' into unique names in the Secret. */
const isKeyList = (text: string): boolean => {
  const parts = text.split(',').map((part) => part.split('='));
  return (
    parts.every(
      ([name = '', from = name, ...more]) => more.length === 0 && isSecretKey(name) && SECRET_KEY.test(from),
    ) && new Set(parts.map(([name]) => name)).size === parts.length
  );
};

/** Agents resolve aliases and `<<` first. */
const annotationOf = (object: KubernetesObject, name: string): string | undefined => {
  const value: unknown =
    object.parsed.document.getIn(['metadata', 'annotations', name]) ??
    (mentions(object, name) ? plainOf(object).metadata?.annotations?.[name] : undefined);
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : '';
};

const mentions = ({ parsed }: KubernetesObject, name: string): boolean => parsed.text.text.includes(name);

type Plain = {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, unknown>> | null } | null;
};

const plainOf = ({ parsed }: KubernetesObject): Plain =>
  (parsed.document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {}) as Plain;

const MAX_ALIASES = 100;

/** True for a Secret with values in plain text. */
export const isPlainSecret = (object: KubernetesObject): boolean =>
  object.kind === 'Secret' &&
  object.apiVersion === 'v1' &&
  sopsMac(object) === undefined &&
  ['data', 'stringData'].some((field) => hasValues(object.parsed.document.get(field, true)));

const hasValues = (node: unknown): boolean =>
  isMap(node) &&
  node.items.some(({ value }) => {
    const plain: unknown = isScalar(value) ? value.value : value;
    return plain !== null && plain !== undefined && plain !== '';
  });

/** Errors for documents that SOPS encrypted as one file: the MAC covers all of them and is invalid for each alone. */
export const findSplitDocuments = (encrypted: ManifestSecrets['encrypted']): readonly FleetError[] => {
  const first = new Map<string, PreparedObject>();
  return encrypted.flatMap((object) => {
    const other = first.get(object.mac);
    first.set(object.mac, object);
    if (!other) return [];
    return [
      new FleetError(
        'OBJECT_INVALID',
        `it was encrypted in one file with ${other.kind} ${other.name}, and one of them alone cannot be checked`,
        {
          subject: `${object.kind} ${object.name}`,
          at: object.at,
          hint: 'Write each document into a file of its own, and encrypt each separately',
        },
      ),
    ];
  });
};

/** Encrypted documents without a namespace: their bytes must not change, so that kustomization.yaml sets it. */
export const withoutNamespace = (encrypted: ManifestSecrets['encrypted']): readonly PreparedObject[] =>
  encrypted.filter(({ kind, namespace }) => namespace === undefined && !isClusterScoped(kind));

/** One advice for each Secret in plain text. */
export const plainSecrets = (objects: readonly PreparedObject[]): readonly FleetError[] =>
  objects.map(
    ({ name, at }) =>
      new FleetError(
        'SECRET_PLAIN',
        'its values stand here for everybody who can read the repository or a medium',
        {
          subject: `Secret ${name}`,
          at,
          hint: `Encrypt it with SOPS, or let a sealed set fill it: ${SECRET_SET}`,
        },
      ),
  );
