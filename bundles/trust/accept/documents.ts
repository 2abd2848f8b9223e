import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError, isFleetError } from '../../errors.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import type { Document } from '../../formats/layout/document.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import type { Channel } from '../../names.ts';
import { MAX_SEALED_BYTES } from '../secrets/secret-set.ts';

/** Upper bounds on size and number of the documents of each role. */
const CAPS: Readonly<Record<string, { readonly bytes: number; readonly count: number }>> = {
  root: { bytes: 512 << 10, count: 64 },
  site: { bytes: 64 << 10, count: 16 },
  'site-values': { bytes: 1 << 20, count: 16 },
  release: { bytes: 64 << 10, count: 16 },
  revocations: { bytes: 4 << 20, count: 16 },
  bundle: { bytes: 64 << 10, count: 64 },
  receipt: { bytes: 64 << 10, count: 64 },
  lease: { bytes: 64 << 10, count: 16 },
  secrets: { bytes: MAX_SEALED_BYTES, count: 256 },
};

/** Upper bound on leases read from a registry; further ones are ignored (docs/bundle-format.md section 8). */
const MAX_LEASES = 50;

/** Source of documents. The scheduler chose the documents of a medium; every client with push access can add to a registry. */
export type From = 'medium' | 'registry';

/** Unverified documents for the acceptance of one agent, selected by the claims of their descriptors. */
export type ChannelDocuments = {
  readonly from: From;
  readonly roots: readonly Buffer[];
  /** Envelopes of the newest site statement that claims this site. */
  readonly site: readonly Buffer[];
  /** Sites that the source claims to have statements for. */
  readonly claimedSites: readonly string[];
  /** Envelopes of the newest release that claims the channel. */
  readonly release: (channel: Channel) => Promise<readonly Buffer[]>;
  /** Channels that the source claims to have releases for. */
  readonly claimedChannels: readonly Channel[];
  /** Envelopes of a channel's leases: of a medium those of the newest lease, of a registry all readable ones. */
  readonly leases: (channel: Channel) => Promise<{
    readonly files: readonly Buffer[];
    readonly skipped: readonly FleetError[];
  }>;
  /** Channels that the source claims to have leases for. */
  readonly leasedChannels: readonly Channel[];
  readonly bundleStatements: (bundle: Digest) => Promise<readonly Buffer[]>;
  readonly receipts: (agent: string) => Promise<readonly Buffer[]>;
  /** A document that a verified statement names by digest. */
  readonly named: (digest: Digest, role: 'site-values' | 'revocations' | 'secrets') => Promise<Buffer>;
};

/** @throws FleetError TOO_LARGE, TOO_MANY, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH */
export const readChannelDocuments = async (
  source: BlobSource,
  documents: readonly Document[],
  site: string,
  from: From = 'medium',
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
  const releases = ofRole('release').filter(hasChannel);
  const leases = ofRole('lease').filter(hasChannel);
  return {
    from,
    roots: await read(ofRole('root'), 'root'),
    site: await read(newest(ofRole('site').filter((document) => document.site === site)), 'site'),
    claimedSites: unique(ofRole('site').flatMap((document) => document.site ?? [])),
    release: async (channel) => read(newest(releases.filter(isOf(channel))), 'release'),
    claimedChannels: channelsOf(releases),
    leases: async (channel) => {
      const found = leases.filter(isOf(channel));
      if (from === 'medium') return { files: await read(newest(found), 'lease'), skipped: [] };
      return readWhatCanBe(found.slice(0, MAX_LEASES), (document) => read([document], 'lease'));
    },
    leasedChannels: channelsOf(leases),
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

const hasChannel = ({ environment, clusterType }: Document): boolean =>
  environment !== undefined && clusterType !== undefined && environment !== '' && clusterType !== '';

const isOf =
  ({ environment, clusterType }: Channel) =>
  (document: Document): boolean =>
    document.environment === environment && document.clusterType === clusterType;

const channelsOf = (documents: readonly Document[]): readonly Channel[] =>
  unique(documents.map((it) => `${it.environment}/${it.clusterType}`)).map((text) => {
    const [environment = '', clusterType = ''] = text.split('/');
    return { environment, clusterType };
  });

/** Reads the readable documents. Missing, too large and mismatching ones are skipped; network errors are thrown. */
const readWhatCanBe = async (
  documents: readonly Document[],
  read: (document: Document) => Promise<readonly Buffer[]>,
): Promise<{ readonly files: readonly Buffer[]; readonly skipped: readonly FleetError[] }> => {
  const files: Buffer[] = [];
  const skipped: FleetError[] = [];
  for (const document of documents) {
    try {
      files.push(...(await read(document)));
    } catch (error) {
      if (!isFleetError(error) || error.retryable || error.code === 'ABORTED') throw error;
      skipped.push(error);
    }
  }
  return { files, skipped };
};

/** The documents that claim the highest version: signatures of one statement are several files. */
const newest = (documents: readonly Document[]): readonly Document[] => {
  const top = Math.max(0, ...documents.map((document) => document.version ?? 0));
  return documents.filter((document) => (document.version ?? 0) === top);
};

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)];
