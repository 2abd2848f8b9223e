import { isUtf8 } from 'node:buffer';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import { findImages } from '../images/find-images.ts';
import { findUnjudged } from '../images/find-unjudged.ts';
import { type ImageRules, imageRules } from '../images/image-rules.ts';
import type { ImageField } from '../images/image-search.ts';
import {
  formatObjects,
  isClusterScoped,
  type KubernetesObject,
  readKubernetesObjects,
  stampNamespace,
} from '../../model/kubernetes/kubernetes-object.ts';
import { pinImage } from '../images/pin-image.ts';
import { findAmbiguous } from './find-ambiguous.ts';
import type { ManifestCache, ManifestInput, PreparedManifest, PreparedObject } from './prepared-manifest.ts';
import {
  checkEncrypted,
  checkFilled,
  findForeignSet,
  isFilled,
  isPlainSecret,
  setsOf,
} from './secret-documents.ts';
import { sopsMac } from '../../model/kubernetes/sops-mac.ts';
import { boundsKey, findViolation } from './tenancy.ts';

/** Upper bound on cache entries, for fleets in which every text differs. */
const MAX_ENTRIES = 20_000;

/**
 * Sets the namespace of the objects in a manifest and pins their images. Errors are added to `problems`. The cache has each
 * distinct text once, regardless of its namespace: 500 applications on 100 cluster types differ mostly in the namespace, and
 * most of the time is spent on parsing and writing YAML. A cache is for one set of image locks.
 */
export const prepareManifest = (
  input: ManifestInput,
  cache: ManifestCache,
  problems: FleetError[],
): PreparedManifest => {
  const { content, namespace, offline, judge, bounds, shown } = input;
  const text = typeof content === 'string' ? content : textOf(content);
  const placeholder = PLACEHOLDER.slice(0, namespace.length);
  if (text === undefined || input.isChosen || !isName(namespace) || text.includes(placeholder))
    return prepare(input, problems);
  const common = text.replaceAll(namespace, placeholder);
  // The length is part of the key: a text without its namespace is the same for all placeholders, but its result is not.
  const key = `${offline}\0${judge?.target}\0${namespace.length}\0${boundsKey(bounds)}`;
  let texts = cache.get(key);
  if (!texts) cache.set(key, (texts = new Map()));
  let known = texts.get(common);
  if (!known) {
    const found: FleetError[] = [];
    known = prepare({ ...input, content: common, namespace: placeholder }, found);
    // Messages must quote the original text.
    if (found.length > 0) return prepare(input, problems);
    if (texts.size >= MAX_ENTRIES) texts.clear();
    texts.set(common, known);
  }
  return inNamespace(known, (one) => one.replaceAll(placeholder, namespace), shown);
};

/**
 * The text of an application's file, decoded once for all cluster types. One string is also quicker to look up: V8 keeps its hash.
 * undefined: it is not UTF-8.
 */
const textOf = (bytes: Buffer): string | undefined => {
  let known = decoded.get(bytes);
  if (known === undefined && isUtf8(bytes)) decoded.set(bytes, (known = bytes.toString('utf8')));
  return known;
};

const decoded = new WeakMap<Buffer, string>();

/**
 * Placeholder for a namespace, cut to its length so that lines and columns stay. It is a DNS label like the namespace, so that
 * YAML quotes both in the same way.
 */
const PLACEHOLDER = 'qzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwj';

/** @param put writes the namespace into a text that has the placeholder */
const inNamespace = (
  { text, objects, owns, images, unknown, suspects, secrets }: PreparedManifest,
  put: (text: string) => string,
  shown: string,
): PreparedManifest => {
  const putIn = ({ apiVersion, kind, name, namespace, at }: PreparedObject): PreparedObject => ({
    apiVersion: put(apiVersion),
    kind: put(kind),
    name: put(name),
    namespace: namespace === undefined ? undefined : put(namespace),
    at: { ...at, file: shown },
  });
  return defined({
    text: put(text),
    objects: () => objects().map(putIn),
    owns: owns.map(put),
    images: images.map(put),
    unknown: unknown.map(putIn),
    suspects: suspects?.map(
      ({ code, message, subject, at, hint }) =>
        new FleetError(code, put(message), {
          subject: subject && put(subject),
          at: { ...at, file: shown },
          hint: hint && put(hint),
        }),
    ),
    secrets: secrets
      ? {
          encrypted: secrets.encrypted.map((object) => ({ ...putIn(object), mac: put(object.mac) })),
          filled: secrets.filled.map(put),
          plain: secrets.plain.map(putIn),
        }
      : undefined,
  });
};

const prepare = (
  { shown, content, namespace, offline, imageLocks, rules = imageRules(), bounds, judge }: ManifestInput,
  problems: FleetError[],
): PreparedManifest => {
  const objects = readKubernetesObjects(shown, content, problems);
  const images = new Set<string>();
  const unknown: PreparedObject[] = [];
  const suspects: FleetError[] = [...findAmbiguous(objects)];
  for (const object of objects) {
    const isEncrypted = sopsMac(object) !== undefined;
    // Encrypted values do not match the schema, and must not be changed.
    const wrong = isEncrypted
      ? checkEncrypted(object, rules)
      : [...(judge?.judge(object) ?? []), ...(isFilled(object) ? checkFilled(object) : [])];
    problems.push(...wrong);
    if (wrong.length === 0 && judge?.isUnknown(object)) unknown.push(toPrepared(object));
    const violation = findViolation(object, namespace, bounds);
    if (violation) problems.push(violation);
    const foreign = wrong.length === 0 ? findForeignSet(object, bounds) : undefined;
    if (foreign) problems.push(foreign);
    if (isEncrypted) continue;
    stampNamespace(object, namespace);
    suspects.push(
      ...findUnjudged(object),
      ...pinImages(object, { offline, imageLocks, rules }, images, problems),
    );
  }
  const prepared = objects.map(toPrepared);
  return {
    text: formatObjects(objects),
    objects: () => prepared,
    owns: objects.map((object) => identityOf(object, namespace)),
    images: [...images],
    unknown,
    ...defined({ suspects: suspects.length > 0 ? suspects : undefined }),
    ...secretsOf(objects),
  };
};

/** Group, kind, namespace and name: the identity of an object in the API server, without the version. */
export const identityOf = (object: PreparedObject, namespace: string): string => {
  const [group] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [''];
  const place = isClusterScoped(object.kind) ? '' : `${object.namespace ?? namespace}/`;
  return `${object.kind}${group ? `.${group}` : ''} ${place}${object.name}`;
};

const secretsOf = (objects: readonly KubernetesObject[]): Pick<PreparedManifest, 'secrets'> => {
  const encrypted = objects.flatMap((object) => {
    const mac = sopsMac(object);
    return mac === undefined ? [] : [{ ...toPrepared(object), mac }];
  });
  const filled = objects.flatMap(setsOf);
  const plain = objects.filter(isPlainSecret).map(toPrepared);
  return encrypted.length + filled.length + plain.length === 0
    ? {}
    : { secrets: { encrypted, filled, plain } };
};

const toPrepared = ({ apiVersion, kind, name, namespace, at }: KubernetesObject): PreparedObject => ({
  apiVersion,
  kind,
  name,
  namespace,
  at,
});

type Pinning = Required<Pick<ManifestInput, 'offline' | 'imageLocks'>> & { readonly rules: ImageRules };

/** @returns values that look like images but are in no image field */
const pinImages = (
  object: KubernetesObject,
  { offline, imageLocks, rules }: Pinning,
  images: Set<string>,
  problems: FleetError[],
): readonly FleetError[] => {
  const found = findImages(object, rules);
  problems.push(...found.problems);
  for (const field of found.images) {
    if (offline && field.pullPolicy === 'Always') problems.push(pulledAlways(object, field));
    try {
      const pinned = pinImage(field.image, imageLocks, field.at);
      images.add(pinned);
      field.pin(pinned);
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      problems.push(error);
    }
  }
  return found.suspects;
};

const pulledAlways = ({ kind, name }: KubernetesObject, { image, at }: ImageField): FleetError =>
  new FleetError(
    'PULL_POLICY',
    `${image} is pulled at every start, but the sites of this cluster type have no network`,
    {
      subject: `${kind} ${name}`,
      at,
      hint: 'Use imagePullPolicy: IfNotPresent',
    },
  );
