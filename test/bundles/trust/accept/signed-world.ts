import { type Accepted, acceptChannel } from '#bundles/trust/accept/accept-channel';
import { type ChannelDocuments, type From, readChannelDocuments } from '#bundles/trust/accept/documents';
import {
  type AcceptPolicy,
  type Clock,
  DEFAULT_MAX_VALIDITY_DAYS,
  type TrustState,
} from '#bundles/trust/accept/trust-state';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, sameChannel } from '#bundles/names';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type {
  BundlePredicate,
  LeasePredicate,
  ReleasePredicate,
  Revocations,
  SiteAgent,
  SitePredicate,
  SiteValues,
} from '#bundles/formats/statements/predicates';
import { encodeStatement, type Subject } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { createRoot, parseRoot, type RootInput } from '#bundles/trust/root/root';
import { blobsInMemory } from '../../blobs-in-memory.ts';
import { newKey, publics } from '../root/new-key.ts';

/**
 * A fleet with keys, roots and statements that are all in order, made in memory; a test changes one thing and offers it
 * to the agent `plant-7/line-1`, which follows prod/kiosk.
 */
export const NOW = new Date('2026-11-21T08:00:00Z');
export const at = (days: number): string => formatTime(addDays(NOW, days));
export const CHANNEL: Channel = { environment: 'prod', clusterType: 'kiosk' };
export const clock = (days = 0, trusted = true): Clock => ({ now: addDays(NOW, days), trusted });
export const POLICY: AcceptPolicy = { maxValidityDays: DEFAULT_MAX_VALIDITY_DAYS, agentVersion: '1.4.0' };

export const officers = [newKey(), newKey(), newKey()] as const;
export const [scheduler, approver, release, nextRelease, lease, agent, stranger] = Array.from(
  { length: 7 },
  newKey,
) as [SigningKey, SigningKey, SigningKey, SigningKey, SigningKey, SigningKey, SigningKey];

type RootChange = Partial<Omit<RootInput, 'keys'>> & { readonly keys?: Partial<RootInput['keys']> };

/** A root that two officers signed, unless others are named. Bundles need scheduler and approver. */
export const rootOf = (
  version: number,
  change: RootChange = {},
  signers: readonly SigningKey[] = officers.slice(0, 2),
): Promise<Buffer> =>
  createRoot(
    {
      fleet: 'acme',
      version,
      expires: addDays(NOW, 700),
      thresholds: { bundle: 2 },
      ...change,
      keys: {
        root: publics(officers),
        bundle: publics([scheduler, approver]),
        release: publics([release]),
        lease: publics([lease]),
        receipt: publics([release]),
        audit: publics([release]),
        ...change.keys,
      },
    },
    signers,
  );

/** The first root of the fleet, which the agent was enrolled with. */
export const root1 = await rootOf(1);

/** An agent after enrolment, that has accepted nothing yet. */
export const enrolled: TrustState = {
  fleet: 'acme',
  site: 'plant-7',
  agent: 'line-1',
  key: agent.public.pem,
  pinnedRoot: digestOf(root1),
  root: parseRoot(root1),
  siteStatement: undefined,
  release: undefined,
  channel: undefined,
  time: undefined,
};

/** The two bundles there are. Nothing of them is read here, so a digest is all they have. */
export const BUNDLE_A = digestOf('bundle a');
export const BUNDLE_B = digestOf('bundle b');

export const sign = (payload: Uint8Array, ...keys: readonly SigningKey[]): Promise<Buffer[]> =>
  Promise.all(keys.map((key) => signPayload(payload, key)));

export const siteAgent = (change: Partial<SiteAgent> = {}): SiteAgent => ({
  name: 'line-1',
  key: agent.public.pem,
  channel: CHANNEL,
  previousChannel: null,
  labels: { ring: 'early' },
  freshness: { mode: 'release' },
  ...change,
});

const VALUES: SiteValues = { fleet: 'acme', site: 'plant-7', values: { dns: '10.7.0.1' }, agents: {} };

export type SiteInput = Partial<SitePredicate> & { readonly values?: SiteValues };

export const sitePayload = ({ values = VALUES, ...change }: SiteInput = {}): Buffer =>
  encodeStatement([{ name: 'site-values', digest: digestOf(canonicalBytes(values)) }], PREDICATES.site, {
    audience: { fleet: 'acme', site: 'plant-7' },
    version: 1,
    agents: [siteAgent()],
    issuedAt: at(-1),
    expires: at(365),
    critical: [],
    ...change,
  } satisfies SitePredicate);

export type ReleaseInput = Partial<ReleasePredicate> & { readonly subjects?: readonly Subject[] };

export const releasePayload = ({ subjects, ...change }: ReleaseInput = {}): Buffer =>
  encodeStatement(subjects ?? [{ name: 'bundle/host', digest: BUNDLE_A }], PREDICATES.release, {
    audience: { fleet: 'acme', ...CHANNEL },
    version: 1,
    rollout: { percent: 100 },
    rootVersion: 1,
    issuedAt: at(-1),
    expires: at(179),
    previous: null,
    minAgent: null,
    minSiteVersion: 1,
    auditHead: null,
    critical: [],
    ...change,
  } satisfies ReleasePredicate);

export const bundlePayload = (digest: Digest, change: Partial<BundlePredicate> = {}): Buffer =>
  encodeStatement([{ name: 'bundle', digest }], PREDICATES.bundle, {
    fleet: 'acme',
    ...CHANNEL,
    kind: 'host',
    candidate: digestOf('candidate'),
    sources: [],
    held: [],
    builder: 'fleet-ferry',
    builtAt: at(-2),
    ...change,
  } satisfies BundlePredicate);

export type LeaseInput = Partial<LeasePredicate> & { readonly about?: Digest; readonly subject?: string };

/** A lease for two weeks, of the release in order unless another is named. */
export const leasePayload = ({ about, subject, ...change }: LeaseInput = {}): Buffer =>
  encodeStatement(
    [{ name: subject ?? 'release', digest: about ?? digestOf(releasePayload()) }],
    PREDICATES.lease,
    {
      audience: { fleet: 'acme', ...CHANNEL },
      version: 1,
      issuedAt: at(-1),
      expires: at(13),
      critical: [],
      ...change,
    } satisfies LeasePredicate,
  );

export const signedLease = (
  change: LeaseInput = {},
  ...keys: readonly SigningKey[]
): Promise<readonly Buffer[]> => sign(leasePayload(change), ...(keys.length > 0 ? keys : [lease]));

export const revocationList = (digests: readonly Digest[], change: Partial<Revocations> = {}): Buffer =>
  canonicalBytes({
    fleet: 'acme',
    ...CHANNEL,
    revoked: digests.map((digest) => ({ digest, reason: 'leaks a key', at: at(-1) })),
    ...change,
  });

/** What a medium carries. Every part is signature files or plain files as they lie there; false: none. */
export type Medium = {
  readonly roots?: readonly Buffer[];
  readonly site?: readonly Buffer[] | false;
  readonly release?: readonly Buffer[] | false;
  /** Statements by the bundle they are stored for. */
  readonly bundles?: ReadonlyMap<Digest, readonly Buffer[]>;
  readonly values?: readonly Buffer[];
  readonly revocations?: readonly Buffer[];
  readonly leases?: readonly Buffer[];
  /** What the table of contents claims the leases to be for. */
  readonly leasedChannel?: Channel;
  /** What the table of contents claims the site and release statements to be for. */
  readonly claimedSite?: string;
  readonly claimedChannel?: Channel;
};

export const bundleStatements = async (
  ...digests: readonly Digest[]
): Promise<ReadonlyMap<Digest, readonly Buffer[]>> =>
  new Map(
    await Promise.all(
      digests.map(
        async (digest) => [digest, await sign(bundlePayload(digest), scheduler, approver)] as const,
      ),
    ),
  );

const both = await bundleStatements(BUNDLE_A, BUNDLE_B);
const goodSite = await sign(sitePayload(), release);
const goodRelease = await sign(releasePayload(), release);

/** The documents of a medium in order, but for what is given. */
export const documentsOf = async (medium: Medium, from?: From): Promise<ChannelDocuments> => {
  const blobs = blobsInMemory();
  const documents: Document[] = [];
  const add = (role: string, files: readonly Buffer[] | false, claims: Partial<Document> = {}): void => {
    for (const bytes of files || []) {
      const size = bytes.byteLength;
      documents.push({ role, digest: blobs.put(bytes), size, mediaType: 'application/json', ...claims });
    }
  };
  add('root', medium.roots ?? [root1]);
  add('site', medium.site ?? goodSite, { site: medium.claimedSite ?? 'plant-7' });
  add('site-values', medium.values ?? [canonicalBytes(VALUES)]);
  add('release', medium.release ?? goodRelease, { ...(medium.claimedChannel ?? CHANNEL) });
  add('revocations', medium.revocations ?? []);
  add('lease', medium.leases ?? [], { ...(medium.leasedChannel ?? CHANNEL), version: 1 });
  for (const [about, files] of medium.bundles ?? both) add('bundle', files, { about });
  return readChannelDocuments(blobs, documents, 'plant-7', from);
};

export const importMedium = async (
  state: TrustState,
  medium: Medium,
  when: Clock = clock(),
  { from, ...policy }: Partial<AcceptPolicy> & { readonly from?: From } = {},
): Promise<Accepted> => acceptChannel(state, await documentsOf(medium, from), when, { ...POLICY, ...policy });

/** What the agent's one transaction stores. */
export const remember = (state: TrustState, { root, site, release, lease, time }: Accepted): TrustState => {
  const { channel } = site.agent;
  const sameAsBefore = state.channel === undefined || sameChannel(channel, state.channel);
  return {
    ...state,
    root,
    siteStatement: site.statement,
    release: release?.statement ?? (sameAsBefore ? state.release : undefined),
    formerReleases: [
      ...(state.formerReleases ?? []),
      ...(sameAsBefore || !state.release ? [] : [state.release]),
    ],
    leases: lease ? [lease.statement] : (state.leases ?? []),
    revoked: release?.revoked ?? state.revoked ?? [],
    channel,
    time,
  };
};

/** Imports one medium after the other, each of them accepted. */
export const after = async (...media: readonly Medium[]): Promise<TrustState> => {
  let state = enrolled;
  for (const medium of media) state = remember(state, await importMedium(state, medium));
  return state;
};

/** A release signed by the release key, its site statement as ever. */
export const releaseMedium = async (
  change: ReleaseInput,
  medium: Medium = {},
  key: SigningKey = release,
): Promise<Medium> => ({ ...medium, release: await sign(releasePayload(change), key) });
