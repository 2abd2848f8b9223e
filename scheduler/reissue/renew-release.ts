import type { Descriptor } from '#bundles/bundle/manifest';
import type { Layout } from '#bundles/layout/layout';
import { readBlob } from '#bundles/layout/verified';
import { RELEASE_ARTIFACT } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root';
import { type NewDocument, writeArtifact } from '../publish/artifact.ts';
import { rootDocuments } from '../publish/publish-release.ts';
import type { PublishedRelease } from '../publish/read-release.ts';
import { findRevoked, readRevocations } from '../publish/revocation-list.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { areEnough, bundlesOf, readBundleStatements } from './bundle-statements.ts';
import { reissueRelease, releaseReferences } from './reissue-release.ts';

/**
 * Why a release cannot stay as it is. 'signers': the newest root no longer counts a key that signed it. 'ending': two
 * thirds of its life are gone. 'list': something was revoked since. 'roots': it is good, but lies there without the newest root.
 */
export type Due = 'signers' | 'ending' | 'list' | 'roots';

export type Renewed = {
  /** 'renewed': a new number. 'roots': the same release, with the newest root beside it. 'revoked': it may not be released again. */
  readonly outcome: 'renewed' | 'roots' | 'good' | 'revoked';
  readonly due: Due | undefined;
  readonly version: number;
  readonly expires: string;
  readonly references: ReadonlyMap<string, Descriptor>;
};

export type Renewal = {
  readonly channel: Channel;
  readonly previous: PublishedRelease;
  readonly now: Date;
  /** Also where nothing asks for it. */
  readonly anyway?: boolean;
};

/**
 * Keeps a channel's release installable though its bundle stays the same: nobody should have to change a workload so that
 * sites can be enrolled in half a year. @throws FleetError those of reissueRelease and readRevocations
 */
export const renewRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, previous, now, anyway = false }: Renewal,
): Promise<Renewed> => {
  const { version, expires } = previous.predicate;
  const revocations = await readRevocations(layout, keys.root.fleet, channel, previous);
  const same = { version, expires, references: new Map<string, Descriptor>() };
  if (findRevoked(revocations, bundlesOf(previous))) return { ...same, outcome: 'revoked', due: undefined };
  const released = await readRevocations(layout, keys.root.fleet, channel, previous, 'released');
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

/** Of its life, what must be left. */
const LEFT = 1 / 3;

export const isEnding = (
  { issuedAt, expires }: { readonly issuedAt: string; readonly expires: string },
  now: Date,
): boolean => {
  const [from, to] = [parseTime(issuedAt).getTime(), parseTime(expires).getTime()];
  return to - now.getTime() < (to - from) * LEFT;
};

const whyDue = async (
  layout: Layout,
  release: PublishedRelease,
  root: TrustRoot,
  now: Date,
): Promise<Due | undefined> => {
  if (release.root.version !== root.version) return 'signers';
  for (const digest of bundlesOf(release)) {
    const statements = await readBundleStatements(layout, release, digest);
    if (!areEnough(statements, root.roles.bundle, digest)) return 'signers';
  }
  if (isEnding(release.predicate, now)) return 'ending';
  return release.documents.some(({ role, digest }) => role === 'root' && digest === root.digest)
    ? undefined
    : 'roots';
};

const MAX_DOCUMENT_BYTES = 16 << 20;

/** The very statements, and every root: whoever fetches the channel learns of the rotation, and no number is spent. */
const withRoots = async (
  layout: Layout,
  keys: KeyDirectory,
  channel: Channel,
  release: PublishedRelease,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const documents: readonly NewDocument[] = await Promise.all(
    release.documents
      .filter(({ role }) => role !== 'root')
      .map(async ({ digest, size: _, ...claims }) => ({
        ...claims,
        bytes: await readBlob(layout.blobs, digest, MAX_DOCUMENT_BYTES),
      })),
  );
  const artifact = await writeArtifact(layout, RELEASE_ARTIFACT, [...documents, ...rootDocuments(keys)]);
  return releaseReferences(channel, artifact, undefined);
};
