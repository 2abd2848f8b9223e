import type { Descriptor } from '#bundles/bundle/manifest';
import { isManifestType } from '#bundles/bundle/manifest';
import { compareBytes, type Digest, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Document } from '#bundles/layout/document';
import { layoutReference } from '#bundles/layout/layout';
import { BUNDLE_HOST, BUNDLE_KUBERNETES, OCI_MANIFEST, REF_NAME } from '#bundles/media-types';
import { agentFolder, type BlobRef, type MediumBundle, RECEIPTS_FOLDER } from '#bundles/medium/medium';
import { formatChannel, sameChannel } from '#bundles/names';
import { channelRepository } from '#bundles/registry/references';
import { formatTime } from '#bundles/time';
import type { Base, Bases } from '../base/base.ts';
import type { Offer, OfferedBundle, OfferedChannel, OfferedReceipt } from '../source/offer.ts';
import { basesFor, chooseBlobs } from './choose-blobs.ts';
import type { BundlePlan, Plan, PlannedBlob, PlannedFile, Rank, SitePlan } from './plan.ts';

/** Pure: what the medium will hold, given what there is and what its readers have. @throws FleetError ROLLBACK */
export const makePlan = (offer: Offer, bases: Bases, now: Date): Plan => {
  checkFloors(offer, bases);
  const bundles = offer.channels.flatMap((channel) => channel.bundles);
  const chosen = chooseBlobs(bundles, bases.bases, bases.asked);
  const media = bundles.map((bundle) => mediumBundle(bundle, chosen, bases.bases));
  const blobs = orderBlobs(offer, bundles, chosen);
  const left = new Map(media.flatMap(({ assumed }) => assumed).map((blob) => [blob.digest, blob.size]));
  return {
    medium: {
      format: 1,
      fleet: offer.root.fleet,
      createdAt: formatTime(now),
      documents: offer.documents.map(({ document }) => document),
      bundles: media,
      critical: [],
    },
    index: bundles.flatMap((bundle) => indexEntries(bundle, chosen)),
    blobs,
    files: receiptFiles(offer),
    bundles: offer.channels.flatMap((channel) =>
      channel.bundles.map((bundle) => describeBundle(channel, bundle, chosen, bases)),
    ),
    sites: describeSites(offer),
    carried: sum(blobs.map(({ size }) => size)),
    assumed: sum([...left.values()]),
  };
};

/** An agent that is already further on would refuse this medium: say so here and not at the site. */
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
): MediumBundle => {
  const assumed: BlobRef[] = bundle.closure
    .filter(({ digest }) => !chosen.has(digest))
    .map(({ digest, size }) => ({ digest, size }))
    .toSorted((a, b) => compareBytes(a.digest, b.digest));
  const base = basesFor(bundle, bases).flatMap(({ holds }) =>
    [...holds]
      .filter(([, blobs]) => assumed.some(({ digest }) => blobs.has(digest)))
      .map(([digest]) => digest),
  );
  return {
    digest: bundle.digest,
    size: bundle.size,
    ...bundle.channel,
    kind: bundle.kind,
    assumed,
    ...(base.length === 0 ? {} : { base: [...new Set(base)].toSorted(compareBytes) }),
  };
};

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
    });
  }
  for (const { closure, repository } of bundles) {
    for (const { digest, size, mediaType } of closure) {
      if (!chosen.has(digest) || planned.has(digest)) continue;
      planned.set(digest, { digest, size, repository, rank: rankOf(mediaType) });
    }
  }
  return [...planned.values()].toSorted(
    (a, b) => ORDER.indexOf(a.rank) - ORDER.indexOf(b.rank) || compareBytes(a.digest, b.digest),
  );
};

/** Configs are JSON and small, whatever standard they follow; the bulk comes last. */
const rankOf = (mediaType: string): Rank => {
  if (isManifestType(mediaType)) return 'manifest';
  return mediaType.endsWith('+json') ? 'config' : 'layer';
};

/** Names for skopeo and oras: the bundle, and each image that is on the medium as a whole. */
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
  // An index entry promises all that it reaches; what a delta leaves out cannot be promised.
  if (!bundle.own.every((digest) => chosen.has(digest))) return images;
  const artifactType = bundle.kind === 'host' ? BUNDLE_HOST : BUNDLE_KUBERNETES;
  const { digest, size } = bundle;
  return [entry({ digest, size, mediaType: OCI_MANIFEST, artifactType }, 'b'), ...images];
};

/** The newest receipt of each agent under a name that its agent can work out, beside the documents. */
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

const describeBundle = (
  channel: OfferedChannel,
  bundle: OfferedBundle,
  chosen: ReadonlySet<Digest>,
  { bases, asked }: Bases,
): BundlePlan => {
  const bytesOf = (test: (digest: Digest) => boolean): number =>
    sum(bundle.closure.filter(({ digest }) => test(digest)).map(({ size }) => size));
  const wanted = bundle.closure.filter(({ digest }) => asked.has(digest)).length;
  const reasons = basesFor(bundle, bases).map((base) => {
    const sets = [...base.holds.values()];
    const held = bundle.closure.filter(({ digest }) => sets.some((set) => set.has(digest))).length;
    return `${base.name} has ${held} of ${bundle.closure.length} blobs`;
  });
  return {
    channel: bundle.channel,
    version: channel.version,
    kind: bundle.kind,
    digest: bundle.digest,
    total: bytesOf(() => true),
    carried: bytesOf((digest) => chosen.has(digest)),
    assumed: bytesOf((digest) => !chosen.has(digest)),
    why: [
      ...(reasons.length > 0 ? reasons : ['no base: everything']),
      ...(wanted > 0 ? [`${wanted} blobs were asked for`] : []),
    ],
  };
};

const describeSites = (offer: Offer): readonly SitePlan[] =>
  offer.sites.map(({ site, version, agents }) => ({
    site,
    version,
    agents: agents.map(({ name, channel }) => ({
      name,
      channel,
      carried: offer.channels.some((one) => sameChannel(one.channel, channel)),
    })),
    bytes: sum(
      offer.documents
        .map(({ document }) => document)
        .filter((it) => isOf(it, site))
        .map((it) => it.size),
    ),
  }));

const isOf = (document: Document, site: string): boolean =>
  document.site === site || document.agent?.split('/')[0] === site;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
