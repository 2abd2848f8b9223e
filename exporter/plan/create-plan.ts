import { defined } from '#bundles/defined';
import { type Descriptor, isManifestType } from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Document } from '#bundles/formats/layout/document';
import { layoutReference } from '#bundles/formats/layout/layout';
import { BUNDLE_HOST, BUNDLE_KUBERNETES, OCI_MANIFEST, REF_NAME } from '#bundles/media-types';
import {
  agentFolder,
  type BlobRef,
  type Delta,
  DELTAS_FOLDER,
  type MediumBundle,
  RECEIPTS_FOLDER,
} from '#bundles/formats/medium/medium';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { formatTime } from '#bundles/time';
import { sum } from '#bundles/sum';
import type { Bases } from '../source/base/base.ts';
import type { Offer, OfferedBundle, OfferedReceipt } from '../source/offer.ts';
import { type Base, chooseBlobs, knowledgeOf, type Reader } from '#bundles/formats/medium/choose-blobs';
import { describeBundle } from './describe-bundle.ts';
import type { Plan, PlannedBlob, PlannedFile, Rank, SitePlan } from './plan.ts';

/** Pure: computes the content of the medium from the offer and the known contents of its readers. @throws FleetError ROLLBACK */
export const createPlan = (
  offer: Offer,
  bases: Bases,
  now: Date,
  /** Blobs that are written as patches. */
  deltas: readonly Delta[] = [],
  seconds = 0,
): Plan => {
  checkFloors(offer, bases);
  const bundles = offer.channels.flatMap((channel) => channel.bundles);
  const chosen = new Set(chooseBlobs(bundles, bases));
  for (const { digest } of deltas) chosen.delete(digest);
  const media = bundles.map((bundle) =>
    mediumBundle(bundle, chosen, knowledgeOf(bundle, bases).bases, deltas),
  );
  const blobs = orderBlobs(offer, bundles, chosen);
  const left = new Map(media.flatMap(({ assumed }) => assumed).map((blob) => [blob.digest, blob.size]));
  for (const { digest } of deltas) left.delete(digest);
  const patches = deltas.map(({ patch }) => patch);
  return defined({
    medium: defined({
      format: 1,
      fleet: offer.root.fleet,
      createdAt: formatTime(now),
      documents: offer.documents.map(({ document }) => document),
      bundles: media,
      deltas: deltas.length > 0 ? deltas : undefined,
      critical: deltas.length > 0 ? ['deltas'] : [],
    }),
    index: bundles.flatMap((bundle) => indexEntries(bundle, chosen)),
    blobs,
    files: [...receiptFiles(offer), ...patches.map((patch) => ({ ...patch, repository: DELTAS_FOLDER }))],
    bundles: offer.channels.flatMap((channel) =>
      channel.bundles.map((bundle) => describeBundle(channel, bundle, chosen, bases, deltas)),
    ),
    leases: offer.leases,
    sites: describeSites(offer, chosen, deltas),
    carried: sum([...blobs, ...patches].map(({ size }) => size)),
    assumed: sum([...left.values()]),
    deltas:
      deltas.length > 0
        ? {
            count: deltas.length,
            bytes: sum(patches.map(({ size }) => size)),
            whole: sum(deltas.map(({ size }) => size)),
            seconds,
          }
        : undefined,
  });
};

/** The agents known to import this medium, including all agents of the sites that it is for. */
export const withReaders = (bases: Bases, { sites }: Offer): Bases => {
  const own = sites.flatMap(({ site, agents }): readonly Reader[] =>
    agents.map(({ name, channel }) => ({ agent: `${site}/${name}`, channel })),
  );
  return { ...bases, readers: [...bases.readers, ...own] };
};

/** Refuses a release that a reader would refuse as older than its accepted one. @throws FleetError ROLLBACK */
const checkFloors = (offer: Offer, bases: Bases): void => {
  for (const { agent, channel, release } of bases.floors) {
    const offered = offer.channels.find((one) => sameChannel(one.channel, channel));
    if (!offered || offered.version >= release) continue;
    throw new FleetError(
      'ROLLBACK',
      `the source has release ${offered.version} of ${formatChannel(channel)}, ${agent} already accepted ${release}`,
      {
        hint: 'Build or fetch the newest release; going back needs a new release that names the old bundles',
      },
    );
  }
};

const mediumBundle = (
  bundle: OfferedBundle,
  chosen: ReadonlySet<Digest>,
  bases: readonly Base[],
  deltas: readonly Delta[],
): MediumBundle => {
  const assumed: BlobRef[] = bundle.closure
    .filter(({ digest }) => !chosen.has(digest))
    .map(({ digest, size }) => ({ digest, size }))
    .toSorted((a, b) => compareBytes(a.digest, b.digest));
  const counted = new Set(
    [...assumed, ...deltas.map((delta) => ({ digest: delta.base }))].map(({ digest }) => digest),
  );
  const base = bases.flatMap(({ holds }) =>
    [...holds].filter(([, blobs]) => !blobs.isDisjointFrom(counted)).map(([digest]) => digest),
  );
  return {
    digest: bundle.digest,
    size: bundle.size,
    ...bundle.channel,
    kind: bundle.kind,
    assumed,
    ...defined({
      base: base.length === 0 ? undefined : [...new Set(base)].toSorted(compareBytes).slice(0, MAX_BASES),
    }),
  };
};

/** The limit of medium.json for names of bases. The names are for people; `assumed` is what import uses. */
const MAX_BASES = 1000;

const ORDER: readonly Rank[] = ['document', 'manifest', 'config', 'layer'];

const orderBlobs = (
  offer: Offer,
  bundles: readonly OfferedBundle[],
  chosen: ReadonlySet<Digest>,
): readonly PlannedBlob[] => {
  const planned = new Map<Digest, PlannedBlob>();
  for (const { document, repository } of offer.documents) {
    planned.set(document.digest, {
      digest: document.digest,
      size: document.size,
      repository,
      rank: 'document',
      shared: true,
    });
  }
  // A closure starts with the bundle's manifest and config.
  const configs = new Set(bundles.map(({ closure }) => closure[1]?.digest));
  for (const { closure, repository } of bundles) {
    for (const { digest, size, mediaType } of closure) {
      if (!chosen.has(digest) || planned.has(digest)) continue;
      const rank = rankOf(mediaType);
      const shared = rank === 'manifest' || configs.has(digest);
      planned.set(digest, { digest, size, repository, rank, shared });
    }
  }
  return [...planned.values()].toSorted(
    (a, b) => ORDER.indexOf(a.rank) - ORDER.indexOf(b.rank) || compareBytes(a.digest, b.digest),
  );
};

/** Small JSON configs come first and layers last. */
const rankOf = (mediaType: string): Rank => {
  if (isManifestType(mediaType)) return 'manifest';
  return mediaType.endsWith('+json') ? 'config' : 'layer';
};

/** Index entries for skopeo and oras: the bundle, and each image that is complete on the medium. */
const indexEntries = (bundle: OfferedBundle, chosen: ReadonlySet<Digest>): readonly Descriptor[] => {
  const repository = channelRepository(bundle.channel);
  const known = new Map(bundle.closure.map((blob) => [blob.digest, blob]));
  const whole = (digest: Digest): boolean =>
    chosen.has(digest) && (known.get(digest)?.children ?? []).every((child) => whole(child));
  const entry = (descriptor: Descriptor, tag: string): Descriptor => ({
    ...descriptor,
    annotations: { [REF_NAME]: layoutReference(repository, `${tag}-${hexOf(descriptor.digest)}`) },
  });
  const images = bundle.images
    .filter(whole)
    .flatMap((digest) => known.get(digest) ?? [])
    .map(({ digest, size, mediaType }) => entry({ digest, size, mediaType }, 'i'));
  // Readers expect everything below an index entry to be present, which a delta cannot provide.
  if (!bundle.own.every((digest) => chosen.has(digest))) return images;
  const artifactType = bundle.kind === 'host' ? BUNDLE_HOST : BUNDLE_KUBERNETES;
  const { digest, size } = bundle;
  return [entry({ digest, size, mediaType: OCI_MANIFEST, artifactType }, 'b'), ...images];
};

/** The newest receipt of each agent, under a name that the agent can compute. */
const receiptFiles = (offer: Offer): readonly PlannedFile[] => {
  const newest = new Map<string, OfferedReceipt>();
  for (const receipt of offer.receipts) {
    if (receipt.to > (newest.get(receipt.agent)?.to ?? 0)) newest.set(receipt.agent, receipt);
  }
  return [...newest.values()]
    .flatMap(({ agent, digest }) => {
      const path = `${RECEIPTS_FOLDER}/${agentFolder(agent)}.sigstore.json`;
      const found = offer.documents.find(({ document }) => document.digest === digest);
      return found ? [{ path, digest, size: found.document.size, repository: found.repository }] : [];
    })
    .toSorted((a, b) => compareBytes(a.path, b.path));
};

const describeSites = (
  offer: Offer,
  chosen: ReadonlySet<Digest>,
  deltas: readonly Delta[],
): readonly SitePlan[] => {
  const patches = new Map(deltas.map(({ digest, patch }) => [digest, patch.size]));
  return offer.sites.map(({ site, version, agents }) => {
    const documents = offer.documents.map(({ document }) => document);
    const own = documents.filter((it) => isOf(it, site));
    const follows = (channel: Channel): boolean => agents.some((one) => sameChannel(one.channel, channel));
    const read = new Map(own.map(({ digest, size }) => [digest, size]));
    for (const { role, environment, clusterType, digest, size } of documents) {
      const isOfChannel =
        environment !== undefined && clusterType !== undefined && follows({ environment, clusterType });
      if (role === 'root' || isOfChannel) read.set(digest, size);
    }
    for (const { closure } of offer.channels
      .filter((one) => follows(one.channel))
      .flatMap((one) => one.bundles))
      for (const { digest, size } of closure) {
        const travels = chosen.has(digest) ? size : patches.get(digest);
        if (travels !== undefined) read.set(digest, travels);
      }
    return {
      site,
      version,
      agents: agents.map(({ name, channel }) => ({
        name,
        channel,
        carried: offer.channels.some((one) => sameChannel(one.channel, channel)),
      })),
      bytes: sum(own.map(({ size }) => size)),
      carried: sum([...read.values()]),
    };
  });
};

const isOf = (document: Document, site: string): boolean =>
  document.site === site || document.agent?.split('/')[0] === site;
