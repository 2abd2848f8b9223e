import { defined } from '#bundles/defined';
import { MAX_CANDIDATE_BYTES } from '#bundles/formats/candidate';
import { type BundleKind, type Channel, formatChannel } from '#bundles/names';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES, RELEASE_ARTIFACT, REVOCATIONS_JSON, SIGSTORE_BUNDLE } from '#bundles/media-types';
import type { Revocations, Rollout } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import { type NewDocument, writeArtifact } from '../../load/releases/artifact.ts';
import { bundleStatementDocuments, RELEASE_DAYS, rootDocuments } from '../write/write-release.ts';
import { nextNumber } from '../write/number-floors.ts';
import { nextAuditHead } from '../../load/releases/audit-head.ts';
import { bundlesOf, type StoredRelease } from '../../load/releases/read-release.ts';
import { pastReference, releaseReference } from '../../load/releases/references.ts';
import { findRevoked } from '../../load/releases/revocation-list.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { signRelease } from '../sign/sign-release.ts';
import { bundleStatements } from './bundle-statements.ts';

export type Reissue = {
  readonly channel: Channel;
  /** The release whose bundles the new one names: the current one to renew it, an older one to roll back. */
  readonly from: StoredRelease;
  /** The current release, whose number the new one follows. */
  readonly previous: StoredRelease;
  /** All revocations of the channel so far (docs/bundle-format.md section 7). */
  readonly revocations: Revocations;
  /** Rollout of the release. Default: the rollout of `previous` for a renewal, all agents for a return to an older release. */
  readonly rollout?: Rollout;
  readonly now: Date;
};

export type Reissued = {
  readonly version: number;
  readonly expires: string;
  /** Index entries by reference, for the caller to write. */
  readonly references: ReadonlyMap<string, Descriptor>;
};

/** Documents that each release creates anew. All others are evidence about its bundles and are copied. */
const OWN_ROLES = new Set(['release', 'bundle', 'revocations', 'root']);

/**
 * Signs a new release of bundles that are already in the layout, under the next number, with new dates and the current keys.
 * The bundles do not change. Used to renew a release, to sign it again after a root rotation, to roll back and to revoke.
 * @throws FleetError REVOKED if a bundle of `from` is revoked; THRESHOLD, BUNDLE_UNSIGNED, UNKNOWN_KEY, KEY_MISSING if the
 *   keys are not enough; AUDIT_TRUNCATED and the other codes of readAuditLog
 */
export const reissueRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, from, previous, revocations, now, ...request }: Reissue,
): Promise<Reissued> => {
  const revoked = findRevoked(revocations, bundlesOf(from));
  if (revoked) {
    throw new FleetError(
      'REVOKED',
      `release ${from.predicate.version} of ${formatChannel(channel)} names a bundle that was revoked at ${revoked.at}: ${revoked.reason}`,
      { subject: revoked.digest, hint: 'Release another bundle; a revoked one is never released again' },
    );
  }
  const isUnchanged = from.digest === previous.digest;
  const rollout = request.rollout ?? (isUnchanged ? from.predicate.rollout : { percent: 100 });
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
      rollout,
      version: await nextNumber(layout, 'releases', channel, previous.predicate.version),
      rootVersion: keys.root.version,
      issuedAt: formatTime(now),
      expires,
      previous: previous.digest,
      auditHead: await nextAuditHead(layout, keys.roots, previous),
    },
    await keys.key('release'),
  );
  const what = `the new release of ${formatChannel(channel)}`;
  // Verified as agents do, so that a release they would reject is never published.
  verifyStatement([release], keys.root.roles.release, PREDICATES.release, what);
  const artifact = await writeArtifact(layout, RELEASE_ARTIFACT, [
    { role: 'release', mediaType: SIGSTORE_BUNDLE, ...channel, version, bytes: release },
    ...[...statements].flatMap(([about, files]) => bundleStatementDocuments(channel, about, files)),
    { role: 'revocations', mediaType: REVOCATIONS_JSON, ...channel, bytes: list },
    // A release that is returned to has no stages.
    ...(await evidenceOf(layout, from)).filter(({ role }) => isUnchanged || role !== 'rollout'),
    ...rootDocuments(keys),
  ]);
  return { version, expires, references: releaseReferences(channel, artifact, previous) };
};

/** Index entries: the channel's pointer, and a permanent reference for each of the two releases. */
export const releaseReferences = (
  channel: Channel,
  artifact: Descriptor,
  previous: StoredRelease | undefined,
): ReadonlyMap<string, Descriptor> =>
  new Map([
    ...(previous
      ? [[pastReference(channel, previous.artifact.digest), plain(previous.artifact)] as const]
      : []),
    [pastReference(channel, artifact.digest), artifact],
    [releaseReference(channel), artifact],
  ]);

/** The descriptor without its annotations, which hold its old reference. */
const plain = ({ mediaType, digest, size, artifactType }: Descriptor): Descriptor =>
  defined({
    mediaType,
    digest,
    size,
    artifactType,
  });

const kindsOf = ({ subjects }: StoredRelease) =>
  [...subjects].flatMap(([name, digest]) => {
    const [, kind] = /^bundle\/(kubernetes|host)$/.exec(name) ?? [];
    return kind === undefined ? [] : [{ kind: kind as BundleKind, digest }];
  });

/** Documents copied unchanged: the candidate, and roles that later versions may add. */
const evidenceOf = async (layout: Layout, { documents }: StoredRelease): Promise<readonly NewDocument[]> =>
  Promise.all(
    documents
      .filter(({ role }) => !OWN_ROLES.has(role))
      .map(async ({ digest, size: _, ...claims }) => ({
        ...claims,
        bytes: await readBlob(layout.blobs, digest, MAX_CANDIDATE_BYTES),
      })),
  );
