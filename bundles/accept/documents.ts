import { type Digest, shortDigest } from '../digest.ts';
import { FleetError } from '../errors.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { Document } from '../layout/document.ts';
import { readBlob } from '../layout/verified.ts';
import type { Channel } from '../names.ts';

/** Caps of security: a statement, a root, a list; and how many of each are looked at. */
const CAPS: Readonly<Record<string, { readonly bytes: number; readonly count: number }>> = {
  root: { bytes: 512 << 10, count: 64 },
  site: { bytes: 64 << 10, count: 16 },
  'site-values': { bytes: 1 << 20, count: 16 },
  release: { bytes: 64 << 10, count: 16 },
  revocations: { bytes: 4 << 20, count: 16 },
  bundle: { bytes: 64 << 10, count: 64 },
  receipt: { bytes: 64 << 10, count: 64 },
};

/** What one agent's acceptance reads, in memory, each file as it claims to be and none of it believed yet. */
export type ChannelDocuments = {
  readonly roots: readonly Buffer[];
  /** Envelopes of the newest site statement that claims this site. */
  readonly site: readonly Buffer[];
  /** Sites that the source claims to have statements for. */
  readonly claimedSites: readonly string[];
  /** Envelopes of the newest release that claims the channel. */
  readonly release: (channel: Channel) => Promise<readonly Buffer[]>;
  /** Channels that the source claims to have releases for. */
  readonly claimedChannels: readonly Channel[];
  readonly bundleStatements: (bundle: Digest) => Promise<readonly Buffer[]>;
  readonly receipts: (agent: string) => Promise<readonly Buffer[]>;
  /** A document that a verified statement names by digest. */
  readonly named: (digest: Digest, role: 'site-values' | 'revocations') => Promise<Buffer>;
};

/** @throws FleetError TOO_LARGE, TOO_MANY, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH */
export const readChannelDocuments = async (
  source: BlobSource,
  documents: readonly Document[],
  site: string,
): Promise<ChannelDocuments> => {
  const read = async (found: readonly Document[], role: string): Promise<Buffer[]> => {
    const cap = CAPS[role] ?? { bytes: 64 << 10, count: 16 };
    if (found.length > cap.count) {
      throw new FleetError(
        'TOO_MANY',
        `${source.name} has ${found.length} files of role ${role}, at most ${cap.count} are read`,
      );
    }
    return Promise.all(found.map((document) => readBlob(source, document.digest, cap.bytes)));
  };
  const ofRole = (role: string): readonly Document[] =>
    documents.filter((document) => document.role === role);
  const releases = ofRole('release').filter((document) => document.environment && document.clusterType);
  return {
    roots: await read(ofRole('root'), 'root'),
    site: await read(newest(ofRole('site').filter((document) => document.site === site)), 'site'),
    claimedSites: unique(ofRole('site').flatMap((document) => document.site ?? [])),
    release: async (channel) =>
      read(
        newest(
          releases.filter(
            (it) => it.environment === channel.environment && it.clusterType === channel.clusterType,
          ),
        ),
        'release',
      ),
    claimedChannels: unique(releases.map((it) => `${it.environment}/${it.clusterType}`)).map((text) => {
      const [environment = '', clusterType = ''] = text.split('/');
      return { environment, clusterType };
    }),
    bundleStatements: async (bundle) =>
      read(
        ofRole('bundle').filter((document) => document.about === bundle),
        'bundle',
      ),
    receipts: async (agent) =>
      read(
        ofRole('receipt').filter((document) => document.agent === agent),
        'receipt',
      ),
    named: async (digest, role) => {
      if (!ofRole(role).some((document) => document.digest === digest)) {
        throw new FleetError(
          'MISSING_BLOB',
          `the ${role} document ${shortDigest(digest)} is not in ${source.name}`,
          { subject: digest },
        );
      }
      return readBlob(source, digest, CAPS[role]?.bytes ?? 0);
    },
  };
};

/** Those that claim the highest version: signatures of one statement are several files. */
const newest = (documents: readonly Document[]): readonly Document[] => {
  const top = Math.max(0, ...documents.map((document) => document.version ?? 0));
  return documents.filter((document) => (document.version ?? 0) === top);
};

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)];
