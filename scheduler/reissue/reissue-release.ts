import type { BundleKind } from '#bundles/bundle/config';
import type { Descriptor } from '#bundles/bundle/manifest';
import { canonicalBytes } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import { readBlob } from '#bundles/layout/verified';
import { PREDICATES, RELEASE_ARTIFACT, REVOCATIONS_JSON, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { Revocations } from '#bundles/statements/predicates';
import { verifyStatement } from '#bundles/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import { type NewDocument, writeArtifact } from '../publish/artifact.ts';
import { bundleStatementDocuments, RELEASE_DAYS, rootDocuments } from '../publish/publish-release.ts';
import type { PublishedRelease } from '../publish/read-release.ts';
import { pastReference, releaseReference } from '../publish/references.ts';
import { findRevoked } from '../publish/revocation-list.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { signRelease } from '../sign/sign-release.ts';
import { bundleStatements, bundlesOf } from './bundle-statements.ts';

export type Reissue = {
  readonly channel: Channel;
  /** Whose bundles the new release names: the last one's to renew it, an older one's to go back. */
  readonly from: PublishedRelease;
  /** The last one, whose number it follows. */
  readonly previous: PublishedRelease;
  /** Cumulative (docs/bundle-format.md section 7). */
  readonly revocations: Revocations;
  readonly now: Date;
};

export type Reissued = {
  readonly version: number;
  readonly expires: string;
  /** Index entries; the caller writes the index last and once. */
  readonly references: ReadonlyMap<string, Descriptor>;
};

/** Roles that each release makes for itself; all others are evidence about its bundles and go along. */
const OWN_ROLES = new Set(['release', 'bundle', 'revocations', 'root']);
const MAX_DOCUMENT_BYTES = 16 << 20;

/**
 * A new release of bundles that are in the layout: the next number, new dates, signed with the keys of today; not a byte
 * of the bundles changes. How a release is renewed, signed again after a rotation, rolled back and left after a withdrawal.
 * @throws FleetError REVOKED; THRESHOLD, UNKNOWN_KEY, KEY_MISSING where the keys are not enough
 */
export const reissueRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, from, previous, revocations, now }: Reissue,
): Promise<Reissued> => {
  const revoked = findRevoked(revocations, bundlesOf(from));
  if (revoked) {
    throw new FleetError(
      'REVOKED',
      `release ${from.predicate.version} of ${formatChannel(channel)} names a bundle that was revoked at ${revoked.at}: ${revoked.reason}`,
      { subject: revoked.digest, hint: 'Release another bundle; what was revoked never comes back' },
    );
  }
  const expires = formatTime(addDays(now, RELEASE_DAYS));
  const list = canonicalBytes(revocations);
  const statements = new Map<Digest, readonly Buffer[]>();
  for (const digest of bundlesOf(from))
    statements.set(digest, await bundleStatements(layout, keys, from, digest));
  const { version, statement: release } = await signRelease(
    {
      bundles: kindsOf(from),
      revocations: list,
      bundleStatements: [...statements.values()].flat(),
      previous: await statementFiles(layout.blobs, previous.documents, 'release'),
    },
    {
      ...from.predicate,
      version: previous.predicate.version + 1,
      rootVersion: keys.root.version,
      issuedAt: formatTime(now),
      expires,
      previous: previous.digest,
    },
    await keys.key('release'),
  );
  const what = `the new release of ${formatChannel(channel)}`;
  // What no agent would take is not handed out.
  verifyStatement([release], keys.root.roles.release, PREDICATES.release, what);
  const artifact = await writeArtifact(layout, RELEASE_ARTIFACT, [
    { role: 'release', mediaType: SIGSTORE_BUNDLE, ...channel, version, bytes: release },
    ...[...statements].flatMap(([about, files]) => bundleStatementDocuments(channel, about, files)),
    { role: 'revocations', mediaType: REVOCATIONS_JSON, ...channel, bytes: list },
    ...(await evidenceOf(layout, from)),
    ...rootDocuments(keys),
  ]);
  return { version, expires, references: releaseReferences(channel, artifact, previous) };
};

/** The pointer, and both releases under names that stay. */
export const releaseReferences = (
  channel: Channel,
  artifact: Descriptor,
  previous: PublishedRelease | undefined,
): ReadonlyMap<string, Descriptor> =>
  new Map([
    ...(previous
      ? [[pastReference(channel, previous.artifact.digest), plain(previous.artifact)] as const]
      : []),
    [pastReference(channel, artifact.digest), artifact],
    [releaseReference(channel), artifact],
  ]);

/** Without the name that it had in the index. */
const plain = ({ mediaType, digest, size, artifactType }: Descriptor): Descriptor => ({
  mediaType,
  digest,
  size,
  ...(artifactType === undefined ? {} : { artifactType }),
});

const kindsOf = ({ subjects }: PublishedRelease) =>
  [...subjects].flatMap(([name, digest]) => {
    const [, kind] = /^bundle\/(kubernetes|host)$/.exec(name) ?? [];
    return kind === undefined ? [] : [{ kind: kind as BundleKind, digest }];
  });

/** Candidates, and whatever later versions add: as it was. */
const evidenceOf = async (layout: Layout, { documents }: PublishedRelease): Promise<readonly NewDocument[]> =>
  Promise.all(
    documents
      .filter(({ role }) => !OWN_ROLES.has(role))
      .map(async ({ digest, size: _, ...claims }) => ({
        ...claims,
        bytes: await readBlob(layout.blobs, digest, MAX_DOCUMENT_BYTES),
      })),
  );
