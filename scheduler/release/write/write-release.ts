import type { BundleKind, Channel } from '#bundles/names';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import {
  CANDIDATE_JSON,
  RELEASE_ARTIFACT,
  REVOCATIONS_JSON,
  ROOT_JSON,
  SIGSTORE_BUNDLE,
} from '#bundles/media-types';
import type { Revocations, Rollout } from '#bundles/formats/statements/predicates';
import { addDays, formatTime } from '#bundles/time';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { signRelease } from '../sign/sign-release.ts';
import { type NewDocument, writeArtifact } from '../../load/releases/artifact.ts';
import { nextAuditHead } from '../../load/releases/audit-head.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import { bundleReference, releaseReference } from '../../load/releases/references.ts';
import { nextNumber } from './number-floors.ts';

/** Days during which agents may install a release. Running packages are not affected when it expires. */
export const RELEASE_DAYS = 180;

export type NewRelease = {
  readonly channel: Channel;
  readonly bundle: {
    readonly kind: BundleKind;
    readonly digest: Digest;
    readonly manifest: Descriptor;
    /** The oldest agent that can install it. */
    readonly minAgent: string | null;
  };
  /** The candidate document (docs/bundle-format.md section 6). */
  readonly candidate: Buffer;
  /** Signature files of the bundle's statement, enough to meet the root's threshold. */
  readonly bundleStatements: readonly Buffer[];
  readonly previous: StoredRelease | undefined;
  /** The agents that it reaches. */
  readonly rollout: Rollout;
  /** The plan of a rollout, if there is one. */
  readonly documents: readonly NewDocument[];
  readonly revocations: Revocations;
  readonly now: Date;
};

export type WrittenRelease = {
  readonly version: number;
  readonly artifact: Descriptor;
  /** Index entries by reference, for the caller to write. */
  readonly references: ReadonlyMap<string, Descriptor>;
};

/**
 * Signs a release whose bundle is in the layout, and writes its statements and the artifact that lists them. The caller
 * writes the index once, after this, so that readers never see a pointer before its signature.
 * @throws FleetError KEY_MISSING, UNKNOWN_KEY; AUDIT_TRUNCATED and the other codes of readAuditLog; SIGNER_UNREACHABLE, APPROVAL_MISSING, NOT_NEWER from a remote signer
 */
export const writeRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  release: NewRelease,
): Promise<WrittenRelease> => {
  const { channel, bundle, bundleStatements, candidate, previous, now } = release;
  const revocations = canonicalBytes(release.revocations);
  const { version, statement } = await signRelease(
    {
      bundles: [bundle],
      revocations,
      bundleStatements,
      previous: await statementFiles(layout.blobs, previous?.documents ?? [], 'release'),
    },
    {
      audience: { fleet: keys.root.fleet, ...channel },
      version: await nextNumber(layout, 'releases', channel, previous?.predicate.version),
      rollout: release.rollout,
      rootVersion: keys.root.version,
      issuedAt: formatTime(now),
      expires: formatTime(addDays(now, RELEASE_DAYS)),
      previous: previous?.digest ?? null,
      minAgent: bundle.minAgent,
      minSiteVersion: 0,
      auditHead: await nextAuditHead(layout, keys.roots, previous),
      critical: [],
    },
    await keys.key('release'),
  );
  const artifact = await writeArtifact(layout, RELEASE_ARTIFACT, [
    { role: 'release', mediaType: SIGSTORE_BUNDLE, ...channel, version, bytes: statement },
    ...bundleStatementDocuments(channel, bundle.digest, bundleStatements),
    { role: 'revocations', mediaType: REVOCATIONS_JSON, ...channel, bytes: revocations },
    { role: 'candidate', mediaType: CANDIDATE_JSON, ...channel, bytes: candidate },
    ...release.documents,
    ...rootDocuments(keys),
  ]);
  return {
    version,
    artifact,
    references: new Map([
      [bundleReference(channel, bundle.digest), bundle.manifest],
      [releaseReference(channel), artifact],
    ]),
  };
};

/** One document per signature: M-of-N signatures are separate files over the same bytes (docs/bundle-format.md section 7). */
export const bundleStatementDocuments = (
  channel: Channel,
  about: Digest,
  files: readonly Buffer[],
): readonly NewDocument[] =>
  files.map((bytes) => ({ role: 'bundle', mediaType: SIGSTORE_BUNDLE, ...channel, about, bytes }));

/** All roots of the fleet, so that a site that was offline for years can follow every rotation from one medium. */
export const rootDocuments = (keys: KeyDirectory): readonly NewDocument[] =>
  keys.roots.map(({ version, bytes }) => ({ role: 'root', mediaType: ROOT_JSON, version, bytes }));
