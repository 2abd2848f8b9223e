import { acceptChannel } from '#bundles/trust/accept/accept-channel';
import { acceptRoot } from '#bundles/trust/accept/accept-root';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import type { Clock } from '#bundles/trust/accept/trust-state';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { parseArtifact } from '#bundles/formats/layout/artifact';
import type { BlobSource, OpenFrom } from '#bundles/formats/layout/blobs';
import type { Document } from '#bundles/formats/layout/document';
import { askFor, readFound } from '#bundles/formats/layout/verified';
import { LEASE_ARTIFACT, RECEIPTS_ARTIFACT, RELEASE_ARTIFACT, SITE_ARTIFACT } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import { channelRepository, siteRepository } from '#bundles/transport/registry/references';
import type { Registry, Repository } from '#bundles/transport/registry/registry';
import { VERSION } from '#bundles/version';
import type { Agent } from '../../store/agent.ts';
import { readTrustState } from '../../store/trust.ts';
import { pointerName } from './pointer-name.ts';
import type { Offer } from './read-offer.ts';

/** Most attempts to read a release and a site statement that the registry has at the same time. */
const MAX_READS = 3;

/**
 * Reads what a registry offers this agent: the documents of its site tag, and the release and lease of the channel that the
 * judged site statement assigns. Tags only locate documents; apart from the site statement, nothing is verified here. The office publishes the values of
 * sites before the release that takes them: when the site tag moves while the release is read, both are read again.
 * @throws FleetError SITE_MISSING, CHANNEL_MISSING, LAYOUT_INVALID, REGISTRY_*, the error of reading a document, or the code with
 *   which acceptance refuses the site statement
 */
export const readRegistryOffer = async (agent: Agent, registry: Registry): Promise<Offer> => {
  const repository = registry.repository(siteRepository(agent.identity.site));
  for (let reads = 1; ; reads++) {
    const { offer, site } = await readOffer(agent, registry, repository);
    if (reads === MAX_READS) return offer;
    const now = await repository.resolve('site', agent.signal);
    if (now === undefined || now.digest === site?.digest) return offer;
  }
};

const readOffer = async (
  agent: Agent,
  registry: Registry,
  repository: Repository,
): Promise<{ readonly offer: Offer; readonly site: Artifact | undefined }> => {
  const { site: name } = agent.identity;
  const site = await readArtifact(repository, 'site', SITE_ARTIFACT, agent.signal);
  if (!site && !readTrustState(agent.state).siteStatement) {
    throw new FleetError('SITE_MISSING', `${repository.name} has no statement for this site`, {
      hint: 'The platform team enrols the site and publishes to this registry',
    });
  }
  const receipts = await readArtifact(repository, 'receipts', RECEIPTS_ARTIFACT, agent.signal);
  const ofSite = [site, receipts].filter((it) => it !== undefined);
  const kept: Kept = new Map();
  const channel = await judgeSite(agent, ofSite, kept);
  const home = registry.repository(channelRepository(channel));
  const release = await readArtifact(home, 'release', RELEASE_ARTIFACT, agent.signal);
  const lease = await readLeases(agent, home, kept);
  const artifacts = [...ofSite, release, lease].filter((it) => it !== undefined);
  const blobs = blobsOf(artifacts, home, registryName(registry), kept);
  const documents = await readChannelDocuments(blobs, documentsOf(artifacts), name, 'registry');
  checkTag(documents.claimedChannels, channel);
  const pointers = new Map(artifacts.map((one) => [one.reference, one.digest] as const));
  return { site, offer: { source: { blobs }, documents, pointers } };
};

/**
 * The tag of a channel names its release, so that one of another channel there is somebody's mistake or attempt. A medium may have a
 * site statement for an agent whose channel has no release on it. @throws FleetError WRONG_CHANNEL
 */
const checkTag = (claimed: readonly Channel[], channel: Channel): void => {
  const released = claimed.map(formatChannel);
  if (released.length === 0 || released.includes(formatChannel(channel))) return;
  throw new FleetError(
    'WRONG_CHANNEL',
    `the tag of ${formatChannel(channel)} has the release of ${released.slice(0, 5).join(', ')}`,
    { hint: 'The registry was filled by mistake, or somebody changed the tag; publish the channel again' },
  );
};

const registryName = ({ address: { host, prefix } }: Registry): string =>
  `registry ${host}${prefix && `/${prefix}`}`;

/** Verified bytes of an offer. */
type Kept = Map<Digest, Buffer>;

type Artifact = {
  readonly reference: string;
  readonly digest: Digest;
  readonly documents: readonly Document[];
  readonly repository: Repository;
};

const readArtifact = async (
  repository: Repository,
  tag: string,
  type: string,
  signal: AbortSignal,
): Promise<Artifact | undefined> => {
  const reference = pointerName(repository, tag);
  const fetched = await repository.fetchManifest(tag, signal);
  if (!fetched) return undefined;
  const documents = parseArtifact(fetched.bytes, { what: reference, type });
  return { reference, digest: fetched.descriptor.digest, documents, repository };
};

/**
 * Reads the lease artifact. Leases are not part of a release, so an invalid one must not block a good release: only its
 * pointer is kept, so that it is not read at every poll. Its roots are used only if they continue the trusted chain.
 */
const readLeases = async (
  agent: Agent,
  repository: Repository,
  kept: Kept,
): Promise<Artifact | undefined> => {
  const found = await orJunk(() => readArtifact(repository, 'lease', LEASE_ARTIFACT, agent.signal));
  if (found === 'junk') {
    const pointer = await repository.resolve('lease', agent.signal);
    return pointer && { ...pointer, reference: pointerName(repository, 'lease'), documents: [], repository };
  }
  if (!found) return undefined;
  const ofRole = (role: string) => found.documents.filter((document) => document.role === role);
  const roots = ofRole('root');
  const blobs = blobsOf([found], repository, repository.name, kept);
  const judged = await orJunk(async () => {
    const offered = await readChannelDocuments(blobs, roots, agent.identity.site, 'registry');
    return acceptRoot(readTrustState(agent.state), offered.roots, clockOf(agent));
  });
  return { ...found, documents: [...(judged === 'junk' ? [] : roots), ...ofRole('lease')] };
};

/** Returns 'junk' for a permanent fault of the artifact. @throws FleetError if it is retryable, or its code is in NO_JUNK */
const orJunk = async <T>(work: () => Promise<T>): Promise<T | 'junk'> => {
  try {
    return await work();
  } catch (error) {
    if (!isFleetError(error) || error.retryable || NO_JUNK.has(error.code)) throw error;
    return 'junk';
  }
};

const NO_JUNK: ReadonlySet<string> = new Set(['ABORTED', 'REGISTRY_DENIED', 'REGISTRY_REFUSED']);

const clockOf = ({ edge }: Agent): Clock => ({ now: edge.now(), trusted: edge.clockTrusted });

/** Judges the site statement alone and returns its channel, which determines the release to read. */
const judgeSite = async (agent: Agent, artifacts: readonly Artifact[], kept: Kept): Promise<Channel> => {
  const { state, identity, policy } = agent;
  const [first] = artifacts;
  const blobs = first ? blobsOf(artifacts, first.repository, first.repository.name, kept) : NO_BLOBS;
  const documents = await readChannelDocuments(blobs, documentsOf(artifacts), identity.site, 'registry');
  const { site } = await acceptChannel(
    readTrustState(state),
    // No release has been read yet.
    { ...documents, claimedChannels: [] },
    clockOf(agent),
    { maxValidityDays: policy.maxValidityDays, agentVersion: VERSION },
  );
  return site.agent.channel;
};

const NO_BLOBS: BlobSource = {
  name: 'the registry',
  size: async () => undefined,
  open: async () => {
    throw new FleetError('MISSING_BLOB', 'the registry has no documents for this site', {
      hint: 'Publish the channel again to this registry',
    });
  },
};

/** The documents of all artifacts without duplicates, such as a root that several artifacts contain. */
const documentsOf = (artifacts: readonly Artifact[]): readonly Document[] => {
  const all = artifacts.flatMap(({ documents }) => documents);
  const unique = new Map(
    all.map((document) => [JSON.stringify(Object.entries(document).sort(byKey)), document]),
  );
  return [...unique.values()];
};

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  compareBytes(a, b);

/**
 * Reads documents from the repository that listed them, with the listed size (which is checked); all else from `home`. What was read as a whole
 * is kept in memory for the offer: a statement is read several times, a config before its copy into the store.
 */
const blobsOf = (artifacts: readonly Artifact[], home: Repository, name: string, kept: Kept): BlobSource => {
  const known = new Map(
    artifacts.flatMap(({ documents, repository }) =>
      documents.map(({ digest, size }) => [digest, { size, repository }] as const),
    ),
  );
  /** Cache of sizes: several callers ask for the size of a blob before one reads it. */
  const seen = new Map<Digest, number>();
  const note = (digest: Digest, size: number | undefined): number | undefined => {
    if (size !== undefined) seen.set(digest, size);
    return size;
  };
  const open: OpenFrom = async (digest, from, signal) => {
    const bytes = kept.get(digest);
    if (bytes) return one(bytes.subarray(from));
    const { blobs } = known.get(digest)?.repository ?? home;
    return blobs.openFrom ? blobs.openFrom(digest, from, signal) : blobs.open(digest, signal);
  };
  return {
    name,
    size: async (digest) =>
      known.get(digest)?.size ?? seen.get(digest) ?? note(digest, await home.blobs.size(digest)),
    open: (digest, signal) => open(digest, 0, signal),
    openFrom: open,
    get: async (digest, wanted) => {
      const { size, repository } = known.get(digest) ?? { repository: home };
      if (!kept.has(digest)) {
        const found = await askFor(repository.blobs, digest, wanted);
        if (!found) return undefined;
        const listed = { ...found, size: size ?? note(digest, found.size) };
        kept.set(digest, await readFound(listed, repository.blobs.name, digest, wanted));
      }
      const bytes = kept.get(digest) as Buffer;
      return { size: size ?? bytes.byteLength, open: async () => one(bytes), drop: async () => {} };
    },
  };
};

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
