import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryOf, parseImageName } from '#bundles/formats/bundle/image-name';
import { FleetError } from '#bundles/errors';
import { errno, hostError } from '../host-error.ts';

/** An image in Podman's storage. */
type StoredImage = {
  /** Of its manifest, and of an index that it was selected from. */
  readonly digests: ReadonlySet<string>;
  readonly names: readonly string[];
};

/** 'here': not loaded by the agent. */
export type InPodman = 'missing' | 'here' | 'loaded';

/** Where Podman of root keeps images unless its configuration says otherwise (containers-storage.conf(5)). */
const STORAGE = '/var/lib/containers/storage';
const SETTINGS = ['/etc/containers/storage.conf', '/usr/share/containers/storage.conf'];

/**
 * The tag that the agent gives to an image that it loads, in the image's own repository: Podman finds an image by digest only in a
 * repository that it has a name of. @param name 'host/repo@sha256:...'
 */
export const tagOf = (name: string): string => name.replace('@sha256:', ':fleet-ferry-');
const TAG = /:fleet-ferry-([0-9a-f]{64})$/;

export type Podman = {
  /** @param name 'host/repo@sha256:...' */
  readonly find: (name: string) => InPodman;
  /** Names of all images that the agent loaded, for whichever package. */
  readonly loaded: readonly string[];
};

/** @throws FleetError PERMISSION, IO */
export const readPodman = async (root: string): Promise<Podman> => {
  const images = await readImages(root);
  const tagged = images.flatMap(({ names }) => names).filter((one) => TAG.test(one));
  const find = (name: string): InPodman => {
    const repository = name.slice(0, name.indexOf('@'));
    const digest = name.slice(name.indexOf('@') + 1);
    const names = images.filter(({ digests }) => digests.has(digest)).flatMap((image) => image.names);
    if (names.includes(tagOf(name))) return 'loaded';
    return names.some((one) => one.startsWith(repository) && isOf(one, repository)) ? 'here' : 'missing';
  };
  return { find, loaded: tagged.map((tag) => tag.replace(TAG, '@sha256:$1')) };
};

const isOf = (name: string, repository: string): boolean => {
  const parsed = parseImageName(name);
  return parsed !== undefined && repositoryOf(parsed) === repository;
};

/** The daemon may not run Podman, which makes namespaces, so it reads the index of the storage. */
const readImages = async (root: string): Promise<readonly StoredImage[]> => {
  const storage = join(root, await storageOf(root));
  const images: StoredImage[] = [];
  for (const driver of (await undefinedIfFailed(readdir(storage))) ?? []) {
    if (!driver.endsWith('-images')) continue;
    const index = join(storage, driver, 'images.json');
    const text = await undefinedIfFailed(readFile(index, 'utf8'));
    if (text !== undefined) images.push(...parseIndex(text, index));
  }
  return images;
};

/** The folder of Podman's storage of root. */
export const storageOf = async (root: string): Promise<string> => {
  for (const file of SETTINGS) {
    const text = await undefinedIfFailed(readFile(join(root, file), 'utf8'));
    const [, , found] = /^\s*graphroot\s*=\s*(["'])(\/[^"']+)\1/mu.exec(text ?? '') ?? [];
    if (found !== undefined) return found;
  }
  return STORAGE;
};

const MANIFEST = 'manifest-';

const parseIndex = (text: string, path: string): readonly StoredImage[] => {
  try {
    const entries = JSON.parse(text) as readonly {
      readonly digest?: string;
      readonly names?: readonly string[] | null;
      readonly 'big-data-names'?: readonly string[] | null;
    }[];
    return entries.map((one) => ({
      digests: new Set([
        ...(one.digest === undefined ? [] : [one.digest]),
        ...(one['big-data-names'] ?? [])
          .filter((data) => data.startsWith(MANIFEST))
          .map((data) => data.slice(MANIFEST.length)),
      ]),
      names: one.names ?? [],
    }));
  } catch (error) {
    throw new FleetError('IO', `${path} is not the index of Podman's images`, { cause: error });
  }
};

const undefinedIfFailed = async <T>(reading: Promise<T>): Promise<T | undefined> => {
  try {
    return await reading;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errno(error) ?? '')) return undefined;
    throw hostError(error, "reading Podman's storage");
  }
};
