import { gte, valid } from 'semver';
import { type BundleKind, type Channel, formatChannel, sameChannel } from '../../names.ts';
import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { PREDICATES } from '../../media-types.ts';
import type { Audience, BundlePredicate, ReleasePredicate } from '../../formats/statements/predicates.ts';
import { verifyStatement } from '../statements/verify-statement.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import type { TrustRoot } from '../root/root.ts';
import { parseAs } from '../../json/parse-as.ts';
import { BUNDLE_PREDICATE, RELEASE_PREDICATE, REVOCATIONS } from '../../json/schema/validators.js';
import { acceptLease, type JudgedLeases } from './accept-lease.ts';
import { checkAudience } from './check-audience.ts';
import { checkVersion } from './check-version.ts';
import type { ChannelDocuments } from './documents.ts';
import { isLiveLease } from './is-live-lease.ts';
import { keptPredicate } from './kept-predicate.ts';
import { keptUnder } from './kept-under.ts';
import { leaseTime } from './lease-time.ts';
import { newFloorStatement } from './statement-to-keep.ts';
import type { AcceptPolicy, Clock, KeptStatement, TrustState } from './trust-state.ts';
import { checkDates, trustedTime } from './trusted-time.ts';

export type AcceptedBundle = {
  readonly kind: BundleKind;
  readonly digest: Digest;
  readonly predicate: BundlePredicate;
};

export type AcceptedRelease = {
  readonly statement: KeptStatement;
  readonly predicate: ReleasePredicate;
  /** 'same' for a medium that was imported before. */
  readonly news: 'newer' | 'same';
  readonly bundles: readonly AcceptedBundle[];
  /** Bundles revoked by this release and by earlier releases of the channel. */
  readonly revoked: readonly Digest[];
  readonly issued: Date;
  /** It has expired without a live lease and is accepted because of a break-glass override. */
  readonly ended: boolean;
  /** Leases of this release. */
  readonly leases: JudgedLeases;
};

/** Release and bundles of one channel (docs/bundle-format.md section 8, steps 6 and 7). @throws FleetError as the attack table names them */
export const acceptRelease = async (
  state: TrustState,
  root: TrustRoot,
  documents: ChannelDocuments,
  channel: Channel,
  siteVersion: number,
  clock: Clock,
  policy: AcceptPolicy,
): Promise<AcceptedRelease> => {
  const envelopes = await documents.release(channel);
  const what = `the release of ${formatChannel(channel)}`;
  const others = documents.claimedChannels.map(formatChannel);
  if (envelopes.length === 0 && others.length > 0)
    throw new FleetError(
      'WRONG_CHANNEL',
      `this has the release of ${others.slice(0, 5).join(', ')}, and not that of ${formatChannel(channel)}`,
    );
  const verified = verifyStatement(envelopes, root.roles.release, PREDICATES.release, what);
  const predicate = parseAs(RELEASE_PREDICATE, verified.predicate, what);
  checkAudience(predicate.audience, { fleet: state.fleet, ...channel }, what);
  const floor = keptUnder(releaseFloor(state, channel), root.roles.release, PREDICATES.release);
  const news = checkVersion(floor, predicate.version, verified.digest, what);
  checkMinimums(predicate, root, siteVersion, policy, what);
  const { issued, expires } = checkDates(predicate, clock, policy.maxValidityDays, what);
  const leases = await acceptLease(state, root, documents, channel, verified.digest, clock, policy);
  const time = trustedTime(clock, leaseTime(state.time, root, leases.lease));
  const ended = expires <= time && !(leases.lease && isLiveLease(leases.lease.predicate, time));
  if (ended && policy.acceptExpired !== true) throw expired(what, predicate, leases);
  const revoked = unique([
    ...(floor ? (state.revoked ?? []) : []),
    ...(await readRevoked(documents, verified.subjects, predicate.audience)),
  ]);
  const bundles: AcceptedBundle[] = [];
  for (const { name, digest } of verified.subjects) {
    const kind = BUNDLE_SUBJECTS.get(name);
    if (kind)
      bundles.push({
        kind,
        digest,
        predicate: await acceptBundle(root, documents, kind, digest, predicate.audience, revoked),
      });
  }
  if (bundles.length === 0) throw new FleetError('SCHEMA', `${what} names no bundle`);
  return {
    statement: newFloorStatement(
      { envelopes, version: predicate.version, digest: verified.digest, news },
      floor,
    ),
    predicate,
    news,
    bundles,
    revoked,
    issued,
    ended,
    leases,
  };
};

const expired = (what: string, { expires }: ReleasePredicate, leases: JudgedLeases): FleetError => {
  const over = leases.lease ? `, its lease at ${leases.lease.predicate.expires}` : '';
  return new FleetError('EXPIRED', `${what} expired at ${expires}${over}${describeSkipped(leases)}`, {
    hint: 'Ask for a newer release, or for a lease of this one; running packages continue',
  });
};

/** Suffix of a message about a missing lease: the first error of the skipped leases. */
export const describeSkipped = ({ skipped }: JudgedLeases): string => {
  const [first] = skipped;
  if (!first) return '';
  const many = skipped.length === 1 ? 'a lease that is there was' : `${skipped.length} leases there were`;
  return `; ${many} skipped (${first.code}: ${first.message})`;
};

/** The version floor of a channel. Each channel has its own numbers, also for an agent that returns to it. */
export const releaseFloor = (state: TrustState, channel: Channel): KeptStatement | undefined =>
  [...(state.release ? [state.release] : []), ...(state.formerReleases ?? [])].find((kept) =>
    sameChannel((keptPredicate(kept) as ReleasePredicate).audience, channel),
  );

const unique = (digests: readonly Digest[]): readonly Digest[] => [...new Set(digests)];

const BUNDLE_SUBJECTS: ReadonlyMap<string, BundleKind> = new Map([
  ['bundle/kubernetes', 'kubernetes'],
  ['bundle/host', 'host'],
]);

const checkMinimums = (
  predicate: ReleasePredicate,
  root: TrustRoot,
  siteVersion: number,
  policy: AcceptPolicy,
  what: string,
): void => {
  if (predicate.rootVersion > root.version) {
    throw new FleetError(
      'ROOT_BEHIND',
      `${what} needs trust root ${predicate.rootVersion}, the newest here is ${root.version}`,
      {
        hint: 'Bring a medium that carries every root',
      },
    );
  }
  const { minAgent } = predicate;
  if (minAgent !== null && (!valid(minAgent) || !gte(policy.agentVersion, minAgent))) {
    throw new FleetError(
      'AGENT_TOO_OLD',
      `${what} needs agent ${minAgent} or newer, this is ${policy.agentVersion}`,
      {
        hint: 'Update the agent first',
      },
    );
  }
  if (predicate.minSiteVersion > siteVersion) {
    throw new FleetError(
      'SITE_BEHIND',
      `${what} needs site statement ${predicate.minSiteVersion}, the newest here is ${siteVersion}`,
      { hint: 'Bring a medium with the newest site statement' },
    );
  }
};

const readRevoked = async (
  documents: ChannelDocuments,
  subjects: readonly { readonly name: string; readonly digest: Digest }[],
  audience: Audience,
): Promise<readonly Digest[]> => {
  const subject = subjects.find(({ name }) => name === 'revocations');
  if (!subject) return [];
  const what = 'the revocation list';
  const bytes = await documents.named(subject.digest, 'revocations');
  const list = parseAs(REVOCATIONS, parseStrictJson(bytes, { maxBytes: 4 << 20 }, what), what);
  checkAudience(list, audience, what);
  return list.revoked.map(({ digest }) => digest);
};

const acceptBundle = async (
  root: TrustRoot,
  documents: ChannelDocuments,
  kind: BundleKind,
  digest: Digest,
  audience: Audience,
  revoked: readonly Digest[],
): Promise<BundlePredicate> => {
  if (revoked.includes(digest)) {
    throw new FleetError('REVOKED', `bundle ${shortDigest(digest)} was revoked`, { subject: digest });
  }
  const envelopes = await documents.bundleStatements(digest);
  const what = `the statement of bundle ${shortDigest(digest)}`;
  if (envelopes.length === 0) {
    throw new FleetError('BUNDLE_UNSIGNED', `bundle ${shortDigest(digest)} has no bundle statement here`, {
      subject: digest,
    });
  }
  const verified = verifyStatement(envelopes, root.roles.bundle, PREDICATES.bundle, what);
  if (!verified.subjects.some((subject) => subject.digest === digest)) {
    throw new FleetError('SUBJECT_MISMATCH', `${what} is about another bundle`, { subject: digest });
  }
  const predicate = parseAs(BUNDLE_PREDICATE, verified.predicate, what);
  checkAudience(predicate, audience, what);
  if (predicate.kind !== kind)
    throw new FleetError('WRONG_TYPE', `${what} says ${predicate.kind}, the release says ${kind}`);
  return predicate;
};
