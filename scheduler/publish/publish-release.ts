import type { BundleKind } from '#bundles/bundle/config';
import type { Descriptor } from '#bundles/bundle/manifest';
import { canonicalBytes } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import {
  CANDIDATE_JSON,
  RELEASE_ARTIFACT,
  REVOCATIONS_JSON,
  ROOT_JSON,
  SIGSTORE_BUNDLE,
} from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import type { Revocations } from '#bundles/statements/predicates';
import { addDays, formatTime } from '#bundles/time';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { signRelease } from '../sign/sign-release.ts';
import { type NewDocument, writeArtifact } from './artifact.ts';
import type { PublishedRelease } from './read-release.ts';
import { bundleReference, releaseReference } from './references.ts';

/** How long a release may be installed; what runs goes on running after that. */
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
  /** Signature files of the bundle's statement, of as many signers as the root wants. */
  readonly bundleStatements: readonly Buffer[];
  readonly previous: PublishedRelease | undefined;
  readonly revocations: Revocations;
  readonly now: Date;
};

export type Published = {
  readonly version: number;
  readonly artifact: Descriptor;
  /** Index entries by reference. */
  readonly references: ReadonlyMap<string, Descriptor>;
};

/**
 * Signs and writes a release whose bundle is in the layout: statements, then the artifact that points to them. Returns
 * the index entries by reference; the caller writes the index last and once, so no reader ever sees a pointer before its
 * signature. @throws FleetError those of the release key; APPROVAL_MISSING, NOT_NEWER of a signer
 */
export const publishRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  release: NewRelease,
): Promise<Published> => {
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
      version: (previous?.predicate.version ?? 0) + 1,
      rollout: { percent: 100 },
      rootVersion: keys.root.version,
      issuedAt: formatTime(now),
      expires: formatTime(addDays(now, RELEASE_DAYS)),
      previous: previous?.digest ?? null,
      minAgent: bundle.minAgent,
      minSiteVersion: 0,
      auditHead: null,
      critical: [],
    },
    await keys.key('release'),
  );
  const artifact = await writeArtifact(layout, RELEASE_ARTIFACT, [
    { role: 'release', mediaType: SIGSTORE_BUNDLE, ...channel, version, bytes: statement },
    ...bundleStatementDocuments(channel, bundle.digest, bundleStatements),
    { role: 'revocations', mediaType: REVOCATIONS_JSON, ...channel, bytes: revocations },
    { role: 'candidate', mediaType: CANDIDATE_JSON, ...channel, bytes: candidate },
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

/** M of N signatures are N files over the same bytes (docs/bundle-format.md section 7). */
export const bundleStatementDocuments = (
  channel: Channel,
  about: Digest,
  files: readonly Buffer[],
): readonly NewDocument[] =>
  files.map((bytes) => ({ role: 'bundle', mediaType: SIGSTORE_BUNDLE, ...channel, about, bytes }));

/** Every root ever: a site offline for years catches up from one stick. */
export const rootDocuments = (keys: KeyDirectory): readonly NewDocument[] =>
  keys.roots.map(({ version, bytes }) => ({ role: 'root', mediaType: ROOT_JSON, version, bytes }));
