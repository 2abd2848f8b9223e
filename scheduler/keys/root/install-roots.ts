import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { readRootDocument, signedBytes } from '#bundles/trust/root/root-document';
import { isRootFile, rootFileName } from '../places/root-file.ts';
import { writeNew } from '../places/write-key-file.ts';
import { openKeyDirectory } from '../key-directory.ts';
import { checkDraftExpiry } from './root-expiry.ts';
import type { RootFile } from './verify-roots.ts';

export type Installed = {
  /** Roots that were not there before, oldest first. */
  readonly added: readonly TrustRoot[];
  readonly root: TrustRoot;
};

/**
 * Installs complete roots into a key directory, from which media and the hub distribute them. They must continue the chain of
 * the newest installed root, as agents require. If interrupted, the same call continues.
 * @param pinned SHA-256 that one of them must have, as published by the officers
 * @throws FleetError ROOT_VERSION, ROOT_FLEET, ROOT_FORMAT, ROOT_THRESHOLD_OLD, ROOT_THRESHOLD_NEW, ROOT_EXPIRED,
 *   EQUIVOCATION, USAGE
 */
export const installRoots = async (
  directory: string,
  files: readonly RootFile[],
  { now, pinned }: { readonly now: Date; readonly pinned?: Digest | undefined },
): Promise<Installed> => {
  const offered = files
    .map(({ file, bytes }) => namingFile(file, () => withSignerHint(() => parseRoot(bytes))))
    .toSorted((a, b) => a.version - b.version);
  const here = await hasRoots(directory);
  const { root: newest, roots: known = [] } = here ? await openKeyDirectory(directory) : {};
  const base = newest ?? firstOf(offered, directory);
  if (pinned !== undefined) checkPin(offered, pinned);
  for (const one of offered) checkKnown(one, known, directory);
  const root = withSignerHint(() => advanceRoot(base, offered));
  if (newest && !newest.dev && root.dev) {
    throw new FleetError('ROOT_FORMAT', 'it would make a development root of one that officers hold', {
      subject: `root ${root.version}`,
    });
  }
  checkDraftExpiry(root, now);
  const added = offered.filter(({ version }) => newest === undefined || version > newest.version);
  await createDirectory(directory, 0o700).catch((error: unknown) => {
    throw toFleetError(error, `making ${directory}`);
  });
  // Oldest first, so that an interruption leaves a valid chain.
  for (const one of added) await writeNew(join(directory, rootFileName(one.version)), one.bytes);
  return { added, root };
};

/** Adds a hint to threshold errors on how to find the missing signature. */
const withSignerHint = <T>(read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!isFleetError(error, 'ROOT_THRESHOLD_NEW') && !isFleetError(error, 'ROOT_THRESHOLD_OLD')) throw error;
    const { code, message, subject } = error;
    const hint =
      'See whose signature is missing: fleet-scheduler root verify, with this root and those before it';
    throw new FleetError(code, message, { subject, hint, cause: error });
  }
};

const hasRoots = async (directory: string): Promise<boolean> => {
  const names = await unlessMissing(readdir(directory), `reading ${directory}`);
  return names?.some(isRootFile) === true;
};

/** Requires root 1 first: the hub serves the whole chain to hosts enrolled with root 1. @throws FleetError ROOT_VERSION */
const firstOf = ([first]: readonly TrustRoot[], directory: string): TrustRoot => {
  if (first?.version === 1) return first;
  throw new FleetError('ROOT_VERSION', `${directory} holds no root yet, and root 1 is not among these`, {
    hint: 'Install every root from the first one on',
  });
};

/** Agents ignore older roots. Here a different root of a known version is an error: the fleet has two histories. */
const checkKnown = (offered: TrustRoot, known: readonly TrustRoot[], directory: string): void => {
  const before = known.find(({ version }) => version === offered.version);
  if (before === undefined || before.fleet !== offered.fleet || hasSameContent(before, offered)) return;
  throw new FleetError('EQUIVOCATION', `${directory} has another root of this number`, {
    subject: `root ${offered.version}`,
    hint: `Two ceremonies were held, or one root is not from your officers: compare ${before.digest} there with ${offered.digest}`,
  });
};

const hasSameContent = (a: TrustRoot, b: TrustRoot): boolean =>
  signedBytes(readRootDocument(a.bytes)).equals(signedBytes(readRootDocument(b.bytes)));

const checkPin = (offered: readonly TrustRoot[], pinned: Digest): void => {
  if (offered.some(({ digest }) => digest === pinned)) return;
  throw new FleetError('ROOT_UNKNOWN', `none of these roots has the SHA-256 ${shortDigest(pinned)}`, {
    subject: offered.map(({ version, digest }) => `root ${version} ${shortDigest(digest)}`).join(', '),
    hint: 'Ask the officers for the root and its SHA-256, over separate channels',
  });
};
