import type { Descriptor } from '../bundle/manifest.ts';
import type { Digest } from '../digest.ts';
import { isDigest } from '../digest.ts';

/**
 * A signed or signed-for file and what it claims to be about: an entry of medium.json, or a layer of a release artifact.
 * The claims only help to find it; what it says is believed after its signature is checked.
 */
export type Document = {
  /** root, site, site-values, release, revocations, bundle (a bundle statement), candidate, lease, receipt, secrets. */
  readonly role: string;
  readonly digest: Digest;
  readonly size: number;
  readonly mediaType: string;
  readonly version?: number;
  readonly site?: string;
  /** '<site>/<agent>' */
  readonly agent?: string;
  readonly environment?: string;
  readonly clusterType?: string;
  /** What a statement is about: a bundle's manifest; of a lease, the release statement. */
  readonly about?: Digest;
};

const PREFIX = 'fleet-ferry.';

/** As a layer of a release or site artifact: the claims become annotations. */
export const toDescriptor = (document: Document): Descriptor => {
  const { digest, size, mediaType, ...claims } = document;
  const annotations = Object.entries(claims)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [PREFIX + key, String(value)] as const);
  return { mediaType, digest, size, annotations: Object.fromEntries(annotations) };
};

/** A layer of a release artifact; undefined for layers that are no document of ours. */
export const fromDescriptor = (descriptor: Descriptor): Document | undefined => {
  const claim = (key: string): string | undefined => descriptor.annotations?.[PREFIX + key];
  const role = claim('role');
  if (role === undefined) return undefined;
  const version = Number(claim('version'));
  const about = claim('about');
  const claims = {
    site: claim('site'),
    agent: claim('agent'),
    environment: claim('environment'),
    clusterType: claim('clusterType'),
  };
  return {
    role,
    digest: descriptor.digest,
    size: descriptor.size,
    mediaType: descriptor.mediaType,
    ...(Number.isSafeInteger(version) && version > 0 ? { version } : {}),
    ...(isDigest(about) ? { about } : {}),
    ...Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined)),
  };
};
