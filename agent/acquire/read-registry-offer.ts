import { acceptChannel } from '#bundles/accept/accept-channel';
import { acceptRoot } from '#bundles/accept/accept-root';
import { readChannelDocuments } from '#bundles/accept/documents';
import type { Clock } from '#bundles/accept/trust-state';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { parseArtifact } from '#bundles/layout/artifact';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Document } from '#bundles/layout/document';
import { askFor } from '#bundles/layout/verified';
import { LEASE_ARTIFACT, RECEIPTS_ARTIFACT, RELEASE_ARTIFACT, SITE_ARTIFACT } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { channelRepository, siteRepository } from '#bundles/registry/references';
import type { Registry, Repository } from '#bundles/registry/registry';
import { VERSION } from '#bundles/version';
import type { Agent } from '../agent.ts';
import { readTrustState } from '../store/trust.ts';
import { pointerName } from './pointer-name.ts';
import type { Offer } from './read-offer.ts';

/**
 * What a registry has for this agent: the documents behind the tag of its site, and behind the release of the channel
 * that the site's statement, once judged, gives it. Tags are only where to look; nothing of it is believed yet.
 * @throws FleetError SITE_MISSING, CHANNEL_MISSING, LAYOUT_INVALID, REGISTRY_*, those of reading, and for the site's
 *   statement those of acceptance
 */
export const readRegistryOffer = async (agent: Agent, registry: Registry): Promise<Offer> => {
  const { site: name } = agent.identity;
  const repository = registry.repository(siteRepository(name));
  const site = await readArtifact(repository, 'site', SITE_ARTIFACT, agent.signal);
  if (!site && !readTrustState(agent.state).siteStatement) {
    throw new FleetError('SITE_MISSING', `${repository.name} has no order for this site`, {
      hint: 'The platform team enrols the site and publishes to this registry',
    });
  }
  const receipts = await readArtifact(repository, 'receipts', RECEIPTS_ARTIFACT, agent.signal);
  const ofSite = [site, receipts].filter((it) => it !== undefined);
  const channel = await judgeSite(agent, ofSite);
  const home = registry.repository(channelRepository(channel));
  const release = await readArtifact(home, 'release', RELEASE_ARTIFACT, agent.signal);
  const lease = await readLeases(agent, home);
  const artifacts = [...ofSite, release, lease].filter((it) => it !== undefined);
  const blobs = blobsOf(artifacts, home, registryName(registry));
  return {
    source: { blobs },
    documents: await readChannelDocuments(blobs, documentsOf(artifacts), name, 'registry'),
    pointers: new Map(artifacts.map(({ reference, digest }) => [reference, digest])),
  };
};

const registryName = ({ address: { host, prefix } }: Registry): string =>
  `registry ${host}${prefix && `/${prefix}`}`;

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
 * Leases are no part of a release: whatever hangs on their tag must not keep a good one away. What is no lease artifact is
 * as if it were not there, but for its pointer, so that it is not looked into again and again; and of its roots only those
 * are taken that follow on those trusted here.
 */
const readLeases = async (agent: Agent, repository: Repository): Promise<Artifact | undefined> => {
  const found = await unlessJunk(() => readArtifact(repository, 'lease', LEASE_ARTIFACT, agent.signal));
  if (found === 'junk') {
    const pointer = await repository.resolve('lease', agent.signal);
    return pointer && { ...pointer, reference: pointerName(repository, 'lease'), documents: [], repository };
  }
  if (!found) return undefined;
  const ofRole = (role: string) => found.documents.filter((document) => document.role === role);
  const roots = ofRole('root');
  const blobs = blobsOf([found], repository, repository.name);
  const judged = await unlessJunk(async () => {
    const offered = await readChannelDocuments(blobs, roots, agent.identity.site, 'registry');
    return acceptRoot(readTrustState(agent.state), offered.roots, clockOf(agent));
  });
  return { ...found, documents: [...(judged === 'junk' ? [] : roots), ...ofRole('lease')] };
};

/** A network that fails is no junk: it is asked again. */
const unlessJunk = async <T>(work: () => Promise<T>): Promise<T | 'junk'> => {
  try {
    return await work();
  } catch (error) {
    if (!isFleetError(error) || error.retryable || NO_JUNK.has(error.code)) throw error;
    return 'junk';
  }
};

const NO_JUNK: ReadonlySet<string> = new Set(['ABORTED', 'REGISTRY_DENIED', 'REGISTRY_REFUSED']);

const clockOf = ({ edge }: Agent): Clock => ({ now: edge.now(), trusted: edge.clockTrusted });

/** The site's statement alone: its channel says which release to ask for. */
const judgeSite = async (agent: Agent, artifacts: readonly Artifact[]): Promise<Channel> => {
  const { state, identity, policy } = agent;
  const [first] = artifacts;
  const blobs = first ? blobsOf(artifacts, first.repository, first.repository.name) : NOWHERE;
  const documents = await readChannelDocuments(blobs, documentsOf(artifacts), identity.site, 'registry');
  const { site } = await acceptChannel(
    readTrustState(state),
    // The release is not asked for yet, so none is offered.
    { ...documents, claimedChannels: [] },
    clockOf(agent),
    { maxValidityDays: policy.maxValidityDays, agentVersion: VERSION },
  );
  return site.agent.channel;
};

const NOWHERE: BlobSource = {
  name: 'the registry',
  size: async () => undefined,
  open: async () => {
    throw new FleetError('MISSING_BLOB', 'the registry has nothing for this site');
  },
};

/** The same root stands in several artifacts, and is one document. */
const documentsOf = (artifacts: readonly Artifact[]): readonly Document[] => {
  const all = artifacts.flatMap(({ documents }) => documents);
  const unique = new Map(
    all.map((document) => [JSON.stringify(Object.entries(document).sort(byKey)), document]),
  );
  return [...unique.values()];
};

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  compareBytes(a, b);

/** Documents from where they were named, by the size that was claimed there (and is checked); all else from `home`. */
const blobsOf = (artifacts: readonly Artifact[], home: Repository, name: string): BlobSource => {
  const known = new Map(
    artifacts.flatMap(({ documents, repository }) =>
      documents.map(({ digest, size }) => [digest, { size, repository }] as const),
    ),
  );
  /** Of what was there: several look before one reads. */
  const seen = new Map<Digest, number>();
  const note = (digest: Digest, size: number | undefined): number | undefined => {
    if (size !== undefined) seen.set(digest, size);
    return size;
  };
  return {
    name,
    size: async (digest) =>
      known.get(digest)?.size ?? seen.get(digest) ?? note(digest, await home.blobs.size(digest)),
    open: async (digest, signal, buffers) =>
      (known.get(digest)?.repository ?? home).blobs.open(digest, signal, buffers),
    get: async (digest, wanted) => {
      const { size, repository } = known.get(digest) ?? { repository: home };
      const found = await askFor(repository.blobs, digest, wanted);
      return found && { ...found, size: size ?? note(digest, found.size) };
    },
  };
};
