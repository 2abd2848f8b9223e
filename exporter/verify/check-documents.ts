import { formatCount } from '#bundles/format-count';
import type { AcceptedRelease } from '#bundles/trust/accept/accept-release';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { isLiveLease } from '#bundles/trust/accept/is-live-lease';
import type { AcceptedLease } from '#bundles/trust/accept/judge-lease';
import { type Digest, shortDigest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Document } from '#bundles/formats/layout/document';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Medium } from '#bundles/formats/medium/medium';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { parseTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import { type Evidence, judgeReceipts, judgeRelease, judgeRoots, judgeSite } from '../source/check/judge.ts';
import { judgeLease } from '../source/check/judge-lease.ts';
import type { ExpectedBlobs } from './check-blobs.ts';
import { checkBundle } from './check-bundle.ts';
import type { CheckList } from './check-list.ts';
import type { Judged } from './judged.ts';
import { type Provenance, toProvenance } from './provenance.ts';
import { signedBy, signersOfFiles, signersOfRoot } from './signed-by.ts';
import { FleetError } from '#bundles/errors';

/** Results of the checks. */
export type Findings = {
  /** undefined if no root is trusted: then nothing else was checked. */
  readonly root: TrustRoot | undefined;
  /** For each valid bundle: its builder and sources. */
  readonly provenance: readonly Provenance[];
  /** Expected blobs of the medium. */
  readonly expected: ExpectedBlobs;
};

type Checking = Judged & {
  readonly list: CheckList;
  readonly evidence: Evidence;
  readonly root: TrustRoot;
};

/**
 * Makes all checks of a site that precede reading content, for every channel and site. Needs only documents, manifests and configs, so it
 * can be repeated from an archive of those.
 */
export const checkDocuments = async (
  list: CheckList,
  judged: Judged,
  signal?: AbortSignal,
): Promise<Findings> => {
  const { medium, blobs, pinned, now } = judged;
  const evidence: Evidence = { blobs, documents: medium.documents, now };
  const root = await list.check(
    'trust root',
    () => judgeRoots(evidence, pinned),
    (it) => ({
      message: `version ${it.version} of fleet ${it.fleet}, ${pinned ? 'from the one given by hand' : it.digest}`,
      ...signersOfRoot(it),
    }),
  );
  const expected: ExpectedBlobs = new Map(medium.documents.map(({ digest, size }) => [digest, size]));
  if (!root) return { root, provenance: [], expected };
  const checking: Checking = { ...judged, list, evidence, root };
  await list.check(
    'fleet',
    async () => checkFleet(medium, root),
    () => `all of ${root.fleet}`,
  );
  await checkSites(checking);
  const releases = await checkReleases(checking);
  await checkLeases(checking, releases);
  const provenance = await checkBundles(checking, releases, expected, signal);
  await list.check(
    'nothing extra',
    async () => checkExtra(medium, releases),
    () => 'every bundle is named by a release',
  );
  await checkReceipts(checking);
  await list.check(
    'documents',
    () => readDocuments(blobs, medium.documents),
    (count) => `${count} of ${count} read`,
  );
  return { root, provenance, expected };
};

const checkSites = async ({ list, evidence, root, medium }: Checking): Promise<void> => {
  for (const site of claims(medium.documents, 'site', (it) => it.site)) {
    await list.check(
      `site ${site}`,
      () => judgeSite(evidence, root, site),
      async ({ version, agents, expires }) => {
        const { site: envelopes } = await readChannelDocuments(evidence.blobs, ofSite(medium, site), site);
        return {
          message: `statement ${version}, ${formatCount(agents.length, 'agent')}, until ${expires}`,
          ...signersOfFiles(envelopes),
        };
      },
    );
  }
};

const ofSite = ({ documents }: Medium, site: string): readonly Document[] =>
  documents.filter((it) => it.role === 'site' && it.site === site);

const checkReleases = async (checking: Checking): Promise<readonly AcceptedRelease[]> => {
  const { list, evidence, root, medium } = checking;
  const releases: AcceptedRelease[] = [];
  for (const channel of channelsOf(medium.documents)) {
    const release = await list.check(
      `release ${formatChannel(channel)}`,
      () => judgeRelease(evidence, root, channel),
      ({ predicate, statement, leases }) => {
        const vouched = signersOfFiles(statement.envelopes);
        return {
          message: `version ${predicate.version}, ${describeEnd(predicate.expires, leases.lease, evidence.now)}, ${signedBy(vouched)}`,
          ...vouched,
        };
      },
    );
    if (release) releases.push(release);
  }
  return releases;
};

const checkLeases = async (
  { list, evidence, root, medium }: Checking,
  releases: readonly AcceptedRelease[],
): Promise<void> => {
  for (const channel of channelsOf(medium.documents, 'lease')) {
    const release = releases.find(({ predicate }) => sameChannel(predicate.audience, channel));
    await list.check(
      `lease ${formatChannel(channel)}`,
      () => judgeLease(evidence, root, channel, release?.statement.digest),
      ({ predicate, statement }) => {
        const vouched = signersOfFiles(statement.envelopes);
        const of = release ? `release ${release.predicate.version}` : 'a release at the site';
        const until = isLiveLease(predicate, evidence.now) ? 'live until' : 'ENDED at';
        return {
          message: `version ${predicate.version} of ${of}, ${until} ${predicate.expires}, ${signedBy(vouched)}`,
          ...vouched,
        };
      },
    );
  }
};

const checkBundles = async (
  checking: Checking,
  releases: readonly AcceptedRelease[],
  expected: ExpectedBlobs,
  signal: AbortSignal | undefined,
): Promise<readonly Provenance[]> => {
  const { list, evidence, medium } = checking;
  const provenance: Provenance[] = [];
  for (const { predicate, bundles } of releases) {
    for (const bundle of bundles) {
      const found = await list.check(
        `${bundle.kind} bundle ${formatChannel(predicate.audience)}`,
        () => checkBundle(checking, bundle, predicate.audience, signal),
        async ({ carried, assumed, absent, signed }) => {
          const documents = await readChannelDocuments(
            evidence.blobs,
            aboutBundle(medium, bundle.digest),
            '',
          );
          const { digests, keys } = signersOfFiles(await documents.bundleStatements(bundle.digest));
          const elsewhere = absent > 0 ? `, ${absent} on parts that are not here` : '';
          return {
            message: `${carried.length} blobs here${elsewhere}, ${assumed} expected at the site${describeSigned(signed)}`,
            digests: [bundle.digest, ...digests],
            keys,
          };
        },
      );
      for (const { digest, size } of found?.carried ?? []) expected.set(digest, size);
      if (found) provenance.push(toProvenance(medium, predicate.audience, bundle, found.signed));
    }
  }
  return provenance;
};

const aboutBundle = ({ documents }: Medium, digest: Digest): readonly Document[] =>
  documents.filter((it) => it.role === 'bundle' && it.about === digest);

const checkReceipts = async ({ list, evidence, root, medium }: Checking): Promise<void> => {
  for (const agent of claims(medium.documents, 'receipt', (it) => it.agent)) {
    await list.check(
      `receipts ${agent}`,
      () => judgeReceipts(evidence, root, agent),
      async (receipts) => {
        const upTo = Math.max(...[...receipts.values()].map(({ to }) => to));
        const files = await Promise.all(
          [...receipts.keys()].map((digest) => readBlob(evidence.blobs, digest, MAX_STATEMENT_BYTES)),
        );
        return { message: `${receipts.size}, up to event ${upTo}`, ...signersOfFiles(files) };
      },
    );
  }
};

/** Text for the end of a release; an ended one that passed has a live lease. */
const describeEnd = (expires: string, lease: AcceptedLease | undefined, now: Date): string =>
  lease && parseTime(expires) <= now
    ? `ended at ${expires}, alive by its lease until ${lease.predicate.expires}`
    : `until ${expires}`;

const describeSigned = (signed: number | undefined): string => {
  if (signed === undefined) return ', signatures of images too';
  return signed === 0 ? '' : `, ${formatCount(signed, 'image')} signed as the policies ask`;
};

/** Reads documents that no check reads, such as candidates, so that every document is verified. */
const readDocuments = async (blobs: BlobSource, documents: readonly Document[]): Promise<number> => {
  for (const { digest, size } of documents) await readBlob(blobs, digest, size);
  return documents.length;
};

const claims = (
  documents: readonly Document[],
  role: string,
  claim: (document: Document) => string | undefined,
): readonly string[] => [
  ...new Set(documents.filter((it) => it.role === role).flatMap((document) => claim(document) ?? [])),
];

const channelsOf = (documents: readonly Document[], wanted = 'release'): readonly Channel[] => [
  ...new Map(
    documents.flatMap(({ role, environment, clusterType }) =>
      role === wanted && environment !== undefined && clusterType !== undefined
        ? [[`${environment}/${clusterType}`, { environment, clusterType }] as const]
        : [],
    ),
  ).values(),
];

/** Compares the table of contents with the signed documents. @throws FleetError WRONG_FLEET */
const checkFleet = (medium: Medium, root: TrustRoot): void => {
  if (medium.fleet === root.fleet) return;
  throw new FleetError(
    'WRONG_FLEET',
    `the medium names fleet ${medium.fleet}, but its root is of fleet ${root.fleet}`,
  );
};

/** Attack M24: a signed bundle that no release on the medium names. */
const checkExtra = (medium: Medium, releases: readonly AcceptedRelease[]): void => {
  const named = new Set<Digest | undefined>(
    releases.flatMap(({ bundles }) => bundles).map(({ digest }) => digest),
  );
  const abouts = medium.documents.filter(({ role }) => role === 'bundle').map(({ about }) => about);
  const extra = [...medium.bundles.map(({ digest }) => digest), ...abouts].find(
    (digest) => !named.has(digest),
  );
  if (extra === undefined) return;
  throw new FleetError('EXTRA_BUNDLE', `no accepted release names bundle ${shortDigest(extra)}`, {
    subject: extra,
  });
};
