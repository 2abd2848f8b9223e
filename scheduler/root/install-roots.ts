import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { namingFile } from '#bundles/keys/naming-file';
import { makeDirectory } from '#bundles/layout/make-directory';
import { writeFileAtomically } from '#bundles/layout/write-file';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root';
import { readRootDocument, signedBytes } from '#bundles/trust/root-document';
import { isRootFile, rootFileName } from '../keys/root-file.ts';
import { openKeyDirectory } from '../sign/key-directory.ts';
import { checkDraftExpiry } from './root-expiry.ts';
import type { RootFile } from './verify-roots.ts';

export type Installed = {
  /** Those that were not there, oldest first. */
  readonly added: readonly TrustRoot[];
  readonly root: TrustRoot;
};

/**
 * Puts finished roots into a key directory, from where every medium and the hub take them. They must follow the newest one
 * there as agents would follow them. Cut off, the same call goes on.
 * @param pinned SHA-256 that one of them must have, as the officers told it
 * @throws FleetError ROOT_VERSION, ROOT_FLEET, ROOT_THRESHOLD_*, ROOT_EXPIRED, EQUIVOCATION, USAGE, and those of parseRoot
 */
export const installRoots = async (
  directory: string,
  files: readonly RootFile[],
  { now, pinned }: { readonly now: Date; readonly pinned?: Digest | undefined },
): Promise<Installed> => {
  const offered = files
    .map(({ file, bytes }) => namingFile(file, () => sayingWho(() => parseRoot(bytes))))
    .toSorted((a, b) => a.version - b.version);
  const here = await hasRoots(directory);
  const { root: newest, roots: known = [] } = here ? await openKeyDirectory(directory) : {};
  const base = newest ?? firstOf(offered, directory);
  if (pinned !== undefined) checkPin(offered, pinned);
  for (const one of offered) checkKnown(one, known, directory);
  const root = sayingWho(() => advanceRoot(base, offered));
  if (newest && !newest.dev && root.dev) {
    throw new FleetError('ROOT_FORMAT', 'it would make a development root of one that officers hold', {
      subject: `root ${root.version}`,
    });
  }
  checkDraftExpiry(root, now);
  const added = offered.filter(({ version }) => newest === undefined || version > newest.version);
  await makeDirectory(directory, 0o700).catch((error: unknown) => {
    throw toFleetError(error, `making ${directory}`);
  });
  // Oldest first: killed between two, what is there is a chain.
  for (const one of added) await writeFileAtomically(join(directory, rootFileName(one.version)), one.bytes);
  return { added, root };
};

/** The readers of roots know no files; who installs one can be told whom to ask. */
const sayingWho = <T>(read: () => T): T => {
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
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw toFleetError(error, `reading ${directory}`);
  });
  return names.some(isRootFile);
};

/** The hub hands out the whole chain: hosts that were enrolled with root 1 need it from there. */
const firstOf = ([first]: readonly TrustRoot[], directory: string): TrustRoot => {
  if (first?.version === 1) return first;
  throw new FleetError('ROOT_VERSION', `${directory} holds no root yet, and root 1 is not among these`, {
    hint: 'Install every root from the first one on',
  });
};

/** Agents skip what is older than theirs. Here it is worth an alarm: somebody holds another history of this fleet. */
const checkKnown = (offered: TrustRoot, known: readonly TrustRoot[], directory: string): void => {
  const before = known.find(({ version }) => version === offered.version);
  if (before === undefined || before.fleet !== offered.fleet || saysTheSame(before, offered)) return;
  throw new FleetError('EQUIVOCATION', `${directory} has another root of this number`, {
    subject: `root ${offered.version}`,
    hint: `Two ceremonies were held, or one of them was not yours: compare ${before.digest} there with ${offered.digest}`,
  });
};

const saysTheSame = (a: TrustRoot, b: TrustRoot): boolean =>
  signedBytes(readRootDocument(a.bytes)).equals(signedBytes(readRootDocument(b.bytes)));

const checkPin = (offered: readonly TrustRoot[], pinned: Digest): void => {
  if (offered.some(({ digest }) => digest === pinned)) return;
  throw new FleetError('ROOT_UNKNOWN', `none of these roots has the SHA-256 ${shortDigest(pinned)}`, {
    subject: offered.map(({ version, digest }) => `root ${version} ${shortDigest(digest)}`).join(', '),
    hint: 'Ask the officers for the root and its SHA-256, each by another way',
  });
};
