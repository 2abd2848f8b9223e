import type { Descriptor } from '#bundles/bundle/manifest';
import { canonicalBytes } from '#bundles/canonical';
import { digestOf } from '#bundles/digest';
import type { Layout } from '#bundles/layout/layout';
import {
  CANDIDATE_JSON,
  RELEASE_ARTIFACT,
  REVOCATIONS_JSON,
  ROOT_JSON,
  SIGSTORE_BUNDLE,
} from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import type { BundlePredicate, Revocations } from '#bundles/statements/predicates';
import { addDays, formatTime } from '#bundles/time';
import type { PackedBundle } from '../bundle/pack-bundle.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { signBundle } from '../sign/sign-bundle.ts';
import { signRelease } from '../sign/sign-release.ts';
import { type NewDocument, writeArtifact } from './artifact.ts';
import type { PublishedRelease } from './read-release.ts';
import { bundleReference, releaseReference } from './references.ts';

/** How long a release may be installed; what runs goes on running after that. */
export const RELEASE_DAYS = 180;

export type NewRelease = {
  readonly channel: Channel;
  readonly bundle: PackedBundle;
  /** The candidate document (docs/bundle-format.md section 6). */
  readonly candidate: Buffer;
  readonly statement: Omit<
    BundlePredicate,
    'kind' | 'candidate' | 'fleet' | 'environment' | 'clusterType' | 'builtAt'
  >;
  readonly previous: PublishedRelease | undefined;
  readonly revocations: Revocations;
  readonly now: Date;
};

/**
 * Signs and writes a release whose bundle is in the layout: statements, then the artifact that points to them. Returns
 * the index entries by reference; the caller writes the index last and once, so no reader ever sees a pointer before its
 * signature.
 */
export const publishRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  release: NewRelease,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const { channel, bundle } = release;
  const documents = await signDocuments(keys, release);
  const artifact = await writeArtifact(layout, RELEASE_ARTIFACT, documents);
  return new Map([
    [bundleReference(channel, bundle.digest), bundle.manifest.descriptor],
    [releaseReference(channel), artifact],
  ]);
};

const signDocuments = async (keys: KeyDirectory, release: NewRelease): Promise<readonly NewDocument[]> => {
  const { channel, bundle, previous, now } = release;
  const version = (previous?.predicate.version ?? 0) + 1;
  const audience = { fleet: keys.root.fleet, ...channel };
  const { candidate } = release;
  const revocations = canonicalBytes(release.revocations);
  const bundleStatement = await signBundle(
    bundle.digest,
    {
      ...audience,
      ...release.statement,
      kind: bundle.kind,
      candidate: digestOf(candidate),
      builtAt: formatTime(now),
    },
    await keys.key('bundle'),
  );
  const releaseStatement = await signRelease(
    { bundles: [bundle], revocations: digestOf(revocations) },
    {
      audience,
      version,
      rollout: { percent: 100 },
      rootVersion: keys.root.version,
      issuedAt: formatTime(now),
      expires: formatTime(addDays(now, RELEASE_DAYS)),
      previous: previous?.digest ?? null,
      minAgent: bundle.config.requirements.agent ?? null,
      minSiteVersion: 0,
      auditHead: null,
      critical: [],
    },
    await keys.key('release'),
  );
  return [
    { role: 'release', mediaType: SIGSTORE_BUNDLE, ...channel, version, bytes: releaseStatement },
    { role: 'bundle', mediaType: SIGSTORE_BUNDLE, ...channel, about: bundle.digest, bytes: bundleStatement },
    { role: 'revocations', mediaType: REVOCATIONS_JSON, ...channel, bytes: revocations },
    { role: 'candidate', mediaType: CANDIDATE_JSON, ...channel, bytes: candidate },
    ...rootDocuments(keys),
  ];
};

/** Every root ever: a site offline for years catches up from one stick. */
export const rootDocuments = (keys: KeyDirectory): readonly NewDocument[] =>
  keys.roots.map(({ version, bytes }) => ({ role: 'root', mediaType: ROOT_JSON, version, bytes }));
