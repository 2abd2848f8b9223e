import type { AcceptedRelease } from '#bundles/accept/accept-release';
import type { Digest } from '#bundles/digest';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Document } from '#bundles/layout/document';
import { readBlob } from '#bundles/layout/verified';
import type { Medium, OpenMedium } from '#bundles/medium/medium';
import { type Channel, formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root';
import { type Evidence, judgeReceipts, judgeRelease, judgeRoots, judgeSite } from '../check/judge.ts';
import { checkBlobs, type ExpectedBlobs } from './check-blobs.ts';
import { checkBundle } from './check-bundle.ts';
import { type Check, type CheckList, checkList } from './check-list.ts';

export type Verification = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  /** Nothing wrong, but worth knowing. */
  readonly advice: readonly string[];
  readonly root: { readonly version: number; readonly digest: Digest } | undefined;
  /** Whether the root was the one given by hand. Without that, all is only consistent with itself. */
  readonly anchored: boolean;
};

/**
 * Everything a site would check, for every channel and site at once, and every blob read. A refusal does not end it: each
 * check says what it found.
 * @throws FleetError MEDIUM_EMPTY, ABORTED; what is wrong with the medium is in the checks
 */
export const verifyMedium = async (
  open: OpenMedium,
  pinned: Digest | undefined,
  now: Date,
  signal?: AbortSignal,
): Promise<Verification> => {
  const { medium, blobs } = open;
  if (!medium) throw new FleetError('MEDIUM_EMPTY', `nobody has filled the medium ${open.path} yet`);
  const list = checkList();
  const evidence: Evidence = { blobs, documents: medium.documents, now };
  const root = await list.check(
    'trust root',
    () => judgeRoots(evidence, pinned),
    (it) =>
      `version ${it.version} of fleet ${it.fleet}, ${pinned ? 'from the one given by hand' : it.digest}`,
  );
  const advice = pinned
    ? []
    : [
        'no --root-sha256 was given: the medium agrees with itself, which an impostor could have seen to as well',
      ];
  if (root) advice.push(...(await checkAll(list, open, medium, evidence, root, signal)));
  return {
    ok: list.checks.every(({ ok }) => ok),
    checks: list.checks,
    advice,
    root: root && { version: root.version, digest: root.digest },
    anchored: pinned !== undefined && root !== undefined,
  };
};

const checkAll = async (
  list: CheckList,
  open: OpenMedium,
  medium: Medium,
  evidence: Evidence,
  root: TrustRoot,
  signal?: AbortSignal,
): Promise<readonly string[]> => {
  await list.check(
    'fleet',
    async () => checkFleet(medium, root),
    () => `all of ${root.fleet}`,
  );
  for (const site of claims(medium.documents, 'site', ({ site }) => site)) {
    await list.check(
      `site ${site}`,
      () => judgeSite(evidence, root, site),
      ({ version, agents, expires }) => `statement ${version}, ${agents.length} agents, until ${expires}`,
    );
  }
  const releases: AcceptedRelease[] = [];
  for (const channel of channelsOf(medium.documents)) {
    const release = await list.check(
      `release ${formatChannel(channel)}`,
      () => judgeRelease(evidence, root, channel),
      ({ predicate }) => `version ${predicate.version}, until ${predicate.expires}`,
    );
    if (release) releases.push(release);
  }
  const expected: ExpectedBlobs = new Map(medium.documents.map(({ digest, size }) => [digest, size]));
  for (const { predicate, bundles } of releases) {
    for (const bundle of bundles) {
      const found = await list.check(
        `${bundle.kind} bundle ${formatChannel(predicate.audience)}`,
        () => checkBundle(open, medium, bundle, predicate.audience, signal),
        ({ carried, assumed }) => `${carried.length} blobs here, ${assumed} expected at the site`,
      );
      for (const { digest, size } of found?.carried ?? []) expected.set(digest, size);
    }
  }
  await list.check(
    'nothing extra',
    async () => checkExtra(medium, releases),
    () => 'every bundle is named by a release',
  );
  for (const agent of claims(medium.documents, 'receipt', (it) => it.agent)) {
    await list.check(
      `receipts ${agent}`,
      () => judgeReceipts(evidence, root, agent),
      (receipts) =>
        `${receipts.size}, up to event ${Math.max(...[...receipts.values()].map(({ to }) => to))}`,
    );
  }
  await list.check(
    'documents',
    () => readDocuments(open, medium.documents),
    (count) => `${count} of ${count} read`,
  );
  const advice: string[] = [];
  await list.check(
    'blobs',
    () => checkBlobs(open, expected, signal),
    ({ checked, strangers }) => {
      if (strangers > 0) advice.push(`${strangers} files under blobs/ belong to nothing on the medium`);
      return `${checked} read, each with its digest`;
    },
  );
  return advice;
};

const checkFleet = (medium: Medium, root: TrustRoot): void => {
  if (medium.fleet === root.fleet) return;
  throw new FleetError('WRONG_FLEET', `the medium says fleet ${medium.fleet}, its root ${root.fleet}`);
};

/** Attack M24: a bundle that is signed, and that no release here asks for. */
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

/** Those that no judge reads (candidates, say) are read here, so that every document was. */
const readDocuments = async ({ blobs }: OpenMedium, documents: readonly Document[]): Promise<number> => {
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

export const channelsOf = (documents: readonly Document[]): readonly Channel[] => [
  ...new Map(
    documents.flatMap(({ role, environment, clusterType }) =>
      role === 'release' && environment !== undefined && clusterType !== undefined
        ? [[`${environment}/${clusterType}`, { environment, clusterType }] as const]
        : [],
    ),
  ).values(),
];
