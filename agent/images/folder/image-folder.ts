import { constants } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes, type Digest, digestFromHex, hexOf, isDigest } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { openRegularFile } from '#bundles/formats/archive/open-regular-file';
import { type BlobDirectory, openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { isRecord } from '#bundles/is-record';
import { parseStrictJson } from '#bundles/json/strict-json';
import { cutText } from '#cli/cut-text';

/**
 * The folder between the agent, which may not reach the nodes, and the image loader of each node, which reaches nothing but its containerd. Every
 * path has one writer, so that a loader need not trust what the agent's side holds. In a pod the writers are two users, and neither owns the
 * folder above, so that none can replace what the other has written.
 *
 *     in/blobs/sha256/<hex>    written by the agent: blobs of images, and signed documents
 *     in/offers/<hex>.json     written by the agent: the documents that prove one bundle (Offer)
 *     in/ask.json              written by the agent: the id of its last request, which loaders have to answer
 *     nodes/<node>.json        written by the loader of that node (Answer)
 */
export type ImageFolder = {
  readonly path: string;
  readonly blobs: BlobDirectory;
};

/** Digests of documents in the folder. */
export type Offer = {
  readonly bundle: Digest;
  readonly roots: readonly Digest[];
  readonly release: readonly Digest[];
  readonly statements: readonly Digest[];
};

export type Refusal = {
  /** A bundle whose documents do not prove it, or an image that containerd did not take. */
  readonly digest: Digest;
  readonly code: string;
  readonly message: string;
};

/** The state of one node, as its loader writes it. */
export type Answer = {
  readonly node: string;
  /** Id of the request that this answers; empty before the first. */
  readonly id: string;
  /** True while the loader works on it. */
  readonly isBusy: boolean;
  /** Rises with each write, so that a reader without a common clock sees that the loader lives. */
  readonly count: number;
  /** Version of the newest root that it accepted: it goes back to no older one. */
  readonly root: number;
  readonly images: readonly Digest[];
  readonly refused: readonly Refusal[];
};

const MAX_FILE_BYTES = 1 << 20;
const MAX_FILES = 1024;

export const openImageFolder = (path: string): ImageFolder => ({
  path,
  blobs: openBlobDirectory(join(path, 'in'), `the image folder ${path}`),
});

const offersIn = ({ path }: ImageFolder): string => join(path, 'in', 'offers');
export const offerFile = (folder: ImageFolder, bundle: Digest): string =>
  join(offersIn(folder), `${hexOf(bundle)}.json`);
export const askFile = ({ path }: ImageFolder): string => join(path, 'in', 'ask.json');
const nodesIn = ({ path }: ImageFolder): string => join(path, 'nodes');
export const answerFile = (folder: ImageFolder, node: string): string =>
  join(nodesIn(folder), `${node}.json`);

/** False if a user other than this process's, or root, may replace what loaders write: then the agent can make them forget newer roots. */
export const isProtected = async (folder: ImageFolder): Promise<boolean> => {
  const trusted = new Set([0, process.getuid?.()]);
  for (const path of [folder.path, nodesIn(folder)]) {
    const found = await stat(path).catch(() => undefined);
    if (found && (!trusted.has(found.uid) || (found.mode & 0o022) !== 0)) return false;
  }
  return true;
};

/** Offers by the bundle that their file is named after. Skips files that are not readable offers: the agent writes them again. */
export const readOffers = async (folder: ImageFolder): Promise<readonly Offer[]> => {
  const offers: Offer[] = [];
  for (const hex of await namesIn(offersIn(folder))) {
    if (!/^[0-9a-f]{64}$/.test(hex)) continue;
    const bundle = digestFromHex(hex);
    const value = await readJson(offerFile(folder, bundle));
    if (!isRecord(value)) continue;
    offers.push({
      bundle,
      roots: digestsOf(value['roots']),
      release: digestsOf(value['release']),
      statements: digestsOf(value['statements']),
    });
  }
  return offers;
};

/** Id of the agent's last request; undefined before the first. */
export const readAsk = async (folder: ImageFolder): Promise<string | undefined> => {
  const value = await readJson(askFile(folder));
  return isRecord(value) && typeof value['id'] === 'string' ? value['id'].slice(0, 64) : undefined;
};

export const readAnswer = async (folder: ImageFolder, node: string): Promise<Answer | undefined> => {
  const value = await readJson(answerFile(folder, node));
  if (!isRecord(value) || typeof value['id'] !== 'string') return undefined;
  const refused = Array.isArray(value['refused']) ? value['refused'].flatMap(refusalOf) : [];
  return {
    node,
    id: value['id'],
    isBusy: value['isBusy'] === true,
    count: numberIn(value['count']),
    root: numberIn(value['root']),
    images: digestsOf(value['images']),
    refused,
  };
};

/** The answers of all nodes, sorted by node. */
export const readAnswers = async (folder: ImageFolder): Promise<readonly Answer[]> => {
  const nodes = await namesIn(nodesIn(folder));
  const answers = await Promise.all(nodes.map((node) => readAnswer(folder, node)));
  return answers.filter((answer) => answer !== undefined);
};

/** Names of the JSON files of a directory, without '.json'. */
const namesIn = async (directory: string): Promise<readonly string[]> => {
  try {
    const files = (await readdir(directory)).filter((file) => /^[a-z0-9][a-z0-9.-]*\.json$/.test(file));
    return files
      .toSorted(compareBytes)
      .slice(0, MAX_FILES)
      .map((file) => file.slice(0, -'.json'.length));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFleetError(error, `listing ${directory}`);
  }
};

/** Parses a file; undefined if it is missing, large, not a regular file or not JSON. Follows no link and waits for no pipe. */
const readJson = async (path: string): Promise<unknown> => {
  try {
    await using file = await openRegularFile(path, constants.O_NOFOLLOW);
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) return undefined;
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return parseStrictJson(bytes.subarray(0, bytesRead), { maxBytes: MAX_FILE_BYTES }, path);
  } catch (error) {
    if (isFleetError(error)) return undefined;
    if (['ENOENT', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw toFleetError(error, `reading ${path}`);
  }
};

const digestsOf = (value: unknown): readonly Digest[] =>
  Array.isArray(value)
    ? value.filter((item): item is Digest => typeof item === 'string' && isDigest(item))
    : [];

const numberIn = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 0);

const refusalOf = (value: unknown): readonly Refusal[] => {
  if (!isRecord(value)) return [];
  const { digest, code, message } = value;
  if (typeof digest !== 'string' || !isDigest(digest)) return [];
  return [{ digest, code: String(code).slice(0, 40), message: cutText(String(message), 500) }];
};

/** Adds a hint to PERMISSION, whose usual cause is a folder that belongs to root. @throws the error of the work */
export const writingTo = async <T>(
  folder: ImageFolder,
  part: 'in' | 'nodes',
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw notWritable(folder, part, error);
  }
};

/** Users of the pods that write the parts of the folder (deploy/kubernetes/offline). */
const USERS = { in: ['the agent', 65_532], nodes: ['the image loader', 65_533] } as const;

const notWritable = (folder: ImageFolder, part: 'in' | 'nodes', cause: unknown): FleetError => {
  const error = toFleetError(cause, `writing to the image folder ${folder.path}`);
  if (error.code !== 'PERMISSION') return error;
  const [who, user] = USERS[part];
  return new FleetError('PERMISSION', error.message, {
    cause,
    hint: `${join(folder.path, part)} has to belong to the user of ${who}'s pod; on the node: install -d -o ${user} -g 65532 -m 750 ${join(folder.path, part)}`,
  });
};
