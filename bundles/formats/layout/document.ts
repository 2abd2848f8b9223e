import { defined } from '../../defined.ts';
import type { Descriptor } from './manifest.ts';
import { type Digest, isDigest } from '../../digest.ts';

/**
 * A signed file, or one that a signed file names by digest: an entry of medium.json, or a layer of a release artifact.
 * Role, version and names are unverified and only help to find it; readers trust its content after checking the signature.
 */
export type Document = {
  /** root, site, site-values, release, revocations, bundle (a bundle statement), candidate, rollout, lease, receipt, secrets. */
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
  /** Subject of a statement: the manifest of a bundle; for a lease, the release statement. */
  readonly about?: Digest;
};

const PREFIX = 'fleet-ferry.';

/** Converts to a layer of a release or site artifact; the unverified fields become annotations. */
export const toDescriptor = (document: Document): Descriptor => {
  const { digest, size, mediaType, ...claims } = document;
  const annotations = Object.entries(claims)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [PREFIX + key, String(value)] as const);
  return { mediaType, digest, size, annotations: Object.fromEntries(annotations) };
};

/** Converts from a layer of a release artifact; undefined for a layer that is not one of our documents. */
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
    ...defined({
      version: Number.isSafeInteger(version) && version > 0 ? version : undefined,
      about: isDigest(about) ? about : undefined,
    }),
    ...Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined)),
  };
};
