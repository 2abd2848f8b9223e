import type { Descriptor } from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest } from '#bundles/digest';
import { EMPTY_CONFIG, EMPTY_DESCRIPTOR, encodeArtifact } from '#bundles/formats/layout/artifact';
import type { Document } from '#bundles/formats/layout/document';
import { layoutReference, withReference } from '#bundles/formats/layout/layout';
import { withBytes } from '#bundles/formats/layout/with-bytes';
import { LEASE_ARTIFACT, RECEIPTS_ARTIFACT, RELEASE_ARTIFACT, SITE_ARTIFACT } from '#bundles/media-types';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import type { Offering } from '#bundles/transport/publish/offering';
import { channelRepository, siteRepository } from '#bundles/transport/registry/references';
import { emptyMediumError } from '../source/check/empty-medium-error.ts';

type Artifact = {
  readonly reference: string;
  readonly type: string;
  readonly documents: readonly Document[];
};

/**
 * Presents a medium as the layout that it was made from, with its documents as artifacts (docs/bundle-format.md section 13). The artifacts
 * are built in memory; the same documents give the same bytes as at the office.
 * @throws FleetError MEDIUM_EMPTY
 */
export const mediumOffering = ({ path, medium, blobs }: OpenMedium): Offering => {
  if (!medium) throw emptyMediumError(path);
  const made = new Map<Digest, Buffer>([[EMPTY_DESCRIPTOR.digest, EMPTY_CONFIG]]);
  let manifests: readonly Descriptor[] = [];
  for (const { reference, type, documents } of artifactsOf(medium.documents)) {
    const { bytes, descriptor } = encodeArtifact(type, documents);
    made.set(descriptor.digest, bytes);
    manifests = withReference(manifests, reference, descriptor);
  }
  return { directory: path, manifests, blobs: withBytes(blobs, made) };
};

const artifactsOf = (documents: readonly Document[]): readonly Artifact[] => {
  const of = (role: string): readonly Document[] => documents.filter((document) => document.role === role);
  const roots = of('root').toSorted((a, b) => (a.version ?? 0) - (b.version ?? 0));
  const ofChannel = (roles: readonly string[], channel: string): readonly Document[] =>
    roles.flatMap((role) => of(role).filter((document) => (channelOf(document) ?? channel) === channel));
  const channels = (role: string): readonly string[] => sorted(of(role).map(channelOf));
  const sites = (role: string): readonly string[] => sorted(of(role).map(siteOf));
  return [
    ...channels('release').map((channel) => ({
      reference: layoutReference(channel, 'release'),
      type: RELEASE_ARTIFACT,
      documents: [...ofChannel(['release', 'bundle', 'revocations', 'candidate'], channel), ...roots],
    })),
    ...channels('lease').map((channel) => ({
      reference: layoutReference(channel, 'lease'),
      type: LEASE_ARTIFACT,
      documents: [...ofChannel(['lease'], channel), ...roots],
    })),
    ...sites('site').map((site) => ({
      reference: layoutReference(siteRepository(site), 'site'),
      type: SITE_ARTIFACT,
      documents: [
        ...['site', 'site-values', 'secrets'].flatMap((role) => of(role).filter((it) => siteOf(it) === site)),
        ...roots,
      ],
    })),
    ...sites('receipt').map((site) => ({
      reference: layoutReference(siteRepository(site), 'receipts'),
      type: RECEIPTS_ARTIFACT,
      documents: of('receipt').filter((it) => siteOf(it) === site),
    })),
  ];
};

const channelOf = ({ environment, clusterType }: Document): string | undefined =>
  environment === undefined || clusterType === undefined
    ? undefined
    : channelRepository({ environment, clusterType });

/** Receipts are for an agent, '<site>/<agent>'. */
const siteOf = ({ site, agent }: Document): string | undefined => site ?? agent?.split('/')[0];

const sorted = (names: readonly (string | undefined)[]): readonly string[] =>
  [...new Set(names.flatMap((name) => name ?? []))].toSorted(compareBytes);
