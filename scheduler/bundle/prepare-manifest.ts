import { FleetError, type Place } from '#bundles/errors';
import { isName } from '#bundles/names';
import {
  containersOf,
  formatObjects,
  type KubernetesObject,
  readKubernetesObjects,
  stampNamespace,
} from './kubernetes-object.ts';
import { pinImage } from './pin-image.ts';

/** A manifest file as it goes into a package. */
export type PreparedManifest = {
  readonly text: string;
  readonly objects: readonly PreparedObject[];
  /** Images its objects run, normalised 'host/repo@sha256:...'. */
  readonly images: readonly string[];
};

export type PreparedObject = Pick<KubernetesObject, 'apiVersion' | 'kind' | 'name' | 'namespace' | 'at'>;

export type ManifestInput = {
  /** How messages name the file. */
  readonly shown: string;
  readonly bytes: Buffer;
  readonly namespace: string;
  readonly offline: boolean;
  readonly imageLocks: ReadonlyMap<string, string>;
};

/**
 * What was prepared before, by its text with the namespace taken out. Of five hundred applications on a hundred cluster
 * types the namespace is nearly all that differs: each is then parsed once, not a hundred times.
 */
export type ManifestCache = Map<string, PreparedManifest>;

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
  const { namespace, offline, shown } = input;
  const text = input.bytes.toString('utf8');
  const standIn = STAND_IN.slice(0, namespace.length);
  if (!isName(namespace) || text.includes(standIn)) return prepare(input, problems);
  const common = text.replaceAll(namespace, standIn);
  const key = `${offline}\0${namespace.length}\0${common}`;
  let known = cache.get(key);
  if (!known) {
    const found: FleetError[] = [];
    known = prepare({ ...input, bytes: Buffer.from(common), namespace: standIn }, found);
    // A message must quote what is written.
    if (found.length > 0) return prepare(input, problems);
    if (cache.size >= MAX_ENTRIES) cache.clear();
    cache.set(key, known);
  }
  const put = (one: string): string => one.replaceAll(standIn, namespace);
  return {
    text: put(known.text),
    objects: known.objects.map((object) => ({
      apiVersion: put(object.apiVersion),
      kind: put(object.kind),
      name: put(object.name),
      namespace: object.namespace === undefined ? undefined : put(object.namespace),
      at: { ...object.at, file: shown },
    })),
    images: known.images.map(put),
  };
};

/**
 * Stands for a namespace of the same length, so that no line or column moves, and is a DNS label as it is, so that YAML
 * writes the one wherever it writes the other.
 */
const STAND_IN = 'qzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwjqzxkvwj';

const prepare = (
  { shown, bytes, namespace, offline, imageLocks }: ManifestInput,
  problems: FleetError[],
): PreparedManifest => {
  const objects = readKubernetesObjects(shown, bytes, problems);
  const images = new Set<string>();
  for (const object of objects) {
    stampNamespace(object, namespace);
    pinContainers(object, offline, imageLocks, images, problems);
  }
  return {
    text: formatObjects(objects),
    objects: objects.map(({ apiVersion, kind, name, namespace: own, at }) => ({
      apiVersion,
      kind,
      name,
      namespace: own,
      at,
    })),
    images: [...images],
  };
};

const pinContainers = (
  object: KubernetesObject,
  offline: boolean,
  locks: ReadonlyMap<string, string>,
  images: Set<string>,
  problems: FleetError[],
): void => {
  for (const { container, image, at, pullPolicy } of containersOf(object)) {
    if (offline && pullPolicy === 'Always') problems.push(pulledAlways(object, image, at));
    try {
      const pinned = pinImage(image, locks, at);
      images.add(pinned);
      container.set('image', pinned);
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      problems.push(error);
    }
  }
};

const pulledAlways = ({ kind, name }: KubernetesObject, image: string, at: Place): FleetError =>
  new FleetError('PULL_POLICY', `${image} is pulled at every start, but this cluster type lives offline`, {
    subject: `${kind} ${name}`,
    at,
    hint: 'Use imagePullPolicy: IfNotPresent',
  });
