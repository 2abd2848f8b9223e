import { MAX_CANDIDATE_BYTES } from '#bundles/formats/candidate';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { RELEASE_ARTIFACT } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import { type NewDocument, writeArtifact } from '../../load/releases/artifact.ts';
import { rootDocuments } from '../write/write-release.ts';
import { bundlesOf, type StoredRelease } from '../../load/releases/read-release.ts';
import { findRevoked, readRevocations } from '../../load/releases/revocation-list.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { meetThreshold, readBundleStatements } from './bundle-statements.ts';
import { reissueRelease, releaseReferences } from './reissue-release.ts';

/**
 * Why a release is due. 'signers': the newest root no longer accepts a key that signed it. 'ending': two thirds of its life
 * are over. 'list': the channel has new revocations. 'roots': the release is valid, but its artifact lacks the newest root.
 */
export type Due = 'signers' | 'ending' | 'list' | 'roots';

export type Renewed = {
  /** 'renewed': a new number. 'roots': the same release with the newest root added. 'revoked': it must not be released again. */
  readonly outcome: 'renewed' | 'roots' | 'good' | 'revoked';
  readonly due: Due | undefined;
  readonly version: number;
  readonly expires: string;
  readonly references: ReadonlyMap<string, Descriptor>;
};

export type Renewal = {
  readonly channel: Channel;
  readonly previous: StoredRelease;
  readonly now: Date;
  /** Renew even if the release is not due. */
  readonly anyway?: boolean;
};

/**
 * Keeps a channel's release installable while its bundle stays the same. Without it, a channel without changes would expire,
 * and new sites could not install it.
 * @throws FleetError THRESHOLD, BUNDLE_UNSIGNED, UNKNOWN_KEY, KEY_MISSING; MISSING_BLOB, DIGEST_MISMATCH, SCHEMA if the
 *   release or a revocation list cannot be read
 */
export const renewRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, previous, now, anyway = false }: Renewal,
): Promise<Renewed> => {
  const { version, expires } = previous.predicate;
  const revocations = await readRevocations(layout, keys.roots, channel, previous);
  const same = { version, expires, references: new Map<string, Descriptor>() };
  if (findRevoked(revocations, bundlesOf(previous))) return { ...same, outcome: 'revoked', due: undefined };
  const released = await readRevocations(layout, keys.roots, channel, previous, 'released');
  const due =
    revocations.revoked.length > released.revoked.length
      ? 'list'
      : await whyDue(layout, previous, keys.root, now);
  if (due === 'roots' && !anyway)
    return { ...same, outcome: 'roots', due, references: await withRoots(layout, keys, channel, previous) };
  if (due === undefined && !anyway) return { ...same, outcome: 'good', due };
  const renewed = await reissueRelease(layout, keys, { channel, from: previous, previous, revocations, now });
  return { ...renewed, outcome: 'renewed', due };
};

/** Fraction of a release's life that must be left. */
const MIN_REMAINING = 1 / 3;

/** Whether less than a third of the time between issue and expiry is left. */
export const isDueForRenewal = (
  { issuedAt, expires }: { readonly issuedAt: string; readonly expires: string },
  now: Date,
): boolean => {
  const [from, to] = [parseTime(issuedAt).getTime(), parseTime(expires).getTime()];
  return to - now.getTime() < (to - from) * MIN_REMAINING;
};

const whyDue = async (
  layout: Layout,
  release: StoredRelease,
  root: TrustRoot,
  now: Date,
): Promise<Due | undefined> => {
  if (release.root.version !== root.version) return 'signers';
  for (const digest of bundlesOf(release)) {
    const statements = await readBundleStatements(layout, release, digest);
    if (!meetThreshold(statements, root.roles.bundle, digest)) return 'signers';
  }
  if (isDueForRenewal(release.predicate, now)) return 'ending';
  return release.documents.some(({ role, digest }) => role === 'root' && digest === root.digest)
    ? undefined
    : 'roots';
};

/** The same statements with all roots: agents of the channel learn of the rotation without a new release number. */
const withRoots = async (
  layout: Layout,
  keys: KeyDirectory,
  channel: Channel,
  release: StoredRelease,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const documents: readonly NewDocument[] = await Promise.all(
    release.documents
      .filter(({ role }) => role !== 'root')
      .map(async ({ digest, size: _, ...claims }) => ({
        ...claims,
        bytes: await readBlob(layout.blobs, digest, MAX_CANDIDATE_BYTES),
      })),
  );
  const artifact = await writeArtifact(layout, RELEASE_ARTIFACT, [...documents, ...rootDocuments(keys)]);
  return releaseReferences(channel, artifact, undefined);
};
