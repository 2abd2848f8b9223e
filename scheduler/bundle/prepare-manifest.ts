import { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import { findImages } from '../images/find-images.ts';
import { type ImageRules, imageRules } from '../images/image-rules.ts';
import type { ImageField } from '../images/image-search.ts';
import {
  formatObjects,
  type KubernetesObject,
  readKubernetesObjects,
  stampNamespace,
} from './kubernetes-object.ts';
import { pinImage } from './pin-image.ts';
import type { ManifestCache, ManifestInput, PreparedManifest, PreparedObject } from './prepared-manifest.ts';
import {
  checkEncrypted,
  checkFilled,
  findForeignSet,
  isFilled,
  isPlainSecret,
  setsOf,
} from './secret-documents.ts';
import { findShared, identityOf, keepShared, type SharedManifests } from './share-manifest.ts';
import { sopsMac } from './sops-mac.ts';
import { boundsKey, findTrespass } from './tenancy.ts';

/** Where every text differs nothing is found again, and nothing is to be kept. */
const MAX_ENTRIES = 20_000;

/**
 * A manifest with its objects in the assignment's namespace and its images pinned. Mistakes go to `problems`.
 * One cache is for one set of image locks.
 */
export const prepareManifest = (
  input: ManifestInput,
  cache: ManifestCache,
  problems: FleetError[],
): PreparedManifest => {
  const { namespace, offline } = input;
  const key = `${offline}\0${input.judge?.target}\0${boundsKey(input.bounds)}\0${namespace.length}\0`;
  const shared = sharedOf(cache);
  const same = findShared(input, shared, key);
  if (same) return same;
  const text = input.bytes.toString('utf8');
  const standIn = STAND_IN.slice(0, namespace.length);
  if (!isName(namespace) || text.includes(standIn)) return prepare(input, problems);
  const common = text.replaceAll(namespace, standIn);
  let known = cache.get(key + common);
  if (!known) {
    const found: FleetError[] = [];
    known = prepare({ ...input, bytes: Buffer.from(common), namespace: standIn }, found);
    // A message must quote what is written.
    if (found.length > 0) return prepare(input, problems);
    if (cache.size >= MAX_ENTRIES) cache.clear();
    cache.set(key + common, known);
  }
  return keepShared(input, shared, key, known, { standIn, common });
};

const sharedBy = new WeakMap<ManifestCache, SharedManifests>();
const sharedOf = (cache: ManifestCache): SharedManifests => {
  const shared = sharedBy.get(cache) ?? new WeakMap();
  sharedBy.set(cache, shared);
  return shared;
};

/**
 * Stands for a namespace of the same length, so that no line or column moves, and is a DNS label as it is, so that YAML
 * writes the one wherever it writes the other.
 */
const STAND_IN = 'qzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwj';

const prepare = (
  { shown, bytes, namespace, offline, imageLocks, rules = imageRules(), bounds, judge }: ManifestInput,
  problems: FleetError[],
): PreparedManifest => {
  const objects = readKubernetesObjects(shown, bytes, problems);
  const images = new Set<string>();
  const unknown: PreparedObject[] = [];
  const suspects: FleetError[] = [];
  for (const object of objects) {
    const isEncrypted = sopsMac(object) !== undefined;
    // Encrypted values are not what a schema says of them, and nobody may change one.
    const wrong = isEncrypted
      ? checkEncrypted(object, rules)
      : [...(judge?.judge(object) ?? []), ...(isFilled(object) ? checkFilled(object) : [])];
    problems.push(...wrong);
    if (wrong.length === 0 && judge?.isUnknown(object)) unknown.push(toPrepared(object));
    const trespass = findTrespass(object, namespace, bounds);
    if (trespass) problems.push(trespass);
    const foreign = wrong.length === 0 ? findForeignSet(object, bounds) : undefined;
    if (foreign) problems.push(foreign);
    if (isEncrypted) continue;
    stampNamespace(object, namespace);
    suspects.push(...pinImages(object, { offline, imageLocks, rules }, images, problems));
  }
  return {
    text: formatObjects(objects),
    objects: objects.map(toPrepared),
    owns: objects.map((object) => identityOf(object, namespace)),
    images: [...images],
    unknown,
    ...(suspects.length > 0 && { suspects }),
    ...secretsOf(objects),
  };
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

/** @returns what may be an image and is in no rule */
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
  new FleetError('PULL_POLICY', `${image} is pulled at every start, but this cluster type lives offline`, {
    subject: `${kind} ${name}`,
    at,
    hint: 'Use imagePullPolicy: IfNotPresent',
  });
