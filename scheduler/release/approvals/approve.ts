import { defined } from '#bundles/defined';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { checkRootExpiry, type TrustRoot } from '#bundles/trust/root/root';
import type { Releases } from '../write/open-releases.ts';
import { writeRelease } from '../write/write-release.ts';
import { readPrevious } from '../write/read-previous.ts';
import { readAuditLog } from '../../load/releases/audit-log.ts';
import { bundlesOf, type StoredRelease } from '../../load/releases/read-release.ts';
import { restateBundle } from './restate-bundle.ts';
import { sendRestatements } from '../write/send-restatements.ts';
import { checkNotRejected, checkPromoted, lineagesOf } from '../../load/releases/check-promoted.ts';
import { awaitingReference } from '../../load/releases/references.ts';
import { findRevoked, readRevocations } from '../../load/releases/revocation-list.ts';
import { meetThreshold, validUnder, readBundleStatements } from '../reissue/bundle-statements.ts';
import { releaseReferences } from '../reissue/reissue-release.ts';
import { startRollout } from '../rollout/begin-rollout.ts';
import { planDocument } from '../rollout/plan-document.ts';
import { EVERYONE } from '../rollout/plan-rollout.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { type Awaiting, readAwaiting, writeAwaiting, signersOf } from './awaiting.ts';
import { isApproved } from './sign-bundle.ts';
import { verifyEnvelope } from '#bundles/trust/statements/verify-statement';

export type Approval = {
  readonly channel: Channel;
  /** Returns a sigstore bundle over exactly `awaiting.payload`: read from a file, or signed on the spot. */
  readonly sign: (awaiting: Awaiting) => Promise<Buffer>;
  readonly now: Date;
};

export type Approved = {
  /** 'restated': the bundle was released before, so that only its new statement counts from now on. */
  readonly outcome: 'released' | 'restated' | 'awaiting';
  readonly awaiting: Awaiting;
  /** The new release; while the bundle still awaits signatures, the current one, 0 if the channel has none. */
  readonly version: number;
};

/** The bundle of a channel that awaits approval. @throws FleetError NOTHING_AWAITING; SCHEMA, MISSING_BLOB if it is damaged */
export const requireAwaiting = async (
  layout: Layout,
  channel: Channel,
  keys: KeyDirectory,
): Promise<Awaiting> => {
  const awaiting = await readAwaiting(layout, channel, keys.root);
  if (awaiting) return awaiting;
  throw new FleetError('NOTHING_AWAITING', `no bundle of ${formatChannel(channel)} waits for an approval`, {
    hint: 'List waiting bundles with: fleet-scheduler approvals',
  });
};

/**
 * Adds a signature to the bundle that awaits approval. Once the root's threshold is met, it is released under the next number;
 * until then the signature is only stored.
 * @throws FleetError NOTHING_AWAITING, NOT_PROMOTED, REVOKED, ROOT_EXPIRED, FROM_FUTURE; PAYLOAD_MISMATCH, THRESHOLD, UNKNOWN_KEY,
 *   BAD_SIGNATURE for the signature; KEY_MISSING, APPROVAL_MISSING, NOT_NEWER from the signer. The index is unchanged then.
 */
export const approve = async (
  releases: Releases,
  keys: KeyDirectory,
  { channel, sign, now }: Approval,
): Promise<Approved> => {
  const { root, roots } = keys;
  checkRootExpiry(root, now);
  const layout = await releases.open();
  const waiting = await requireAwaiting(layout, channel, keys);
  const previous = await readPrevious(layout, channel, roots, now);
  const revocations = await readRevocations(layout, roots, channel, previous);
  const revoked = findRevoked(revocations, [waiting.bundle]);
  if (revoked) {
    throw new FleetError('REVOKED', `what waits was revoked at ${revoked.at}: ${revoked.reason}`, {
      subject: waiting.bundle,
      hint: 'Build again; a revoked bundle is never released again',
    });
  }
  const log = await readAuditLog(layout, roots);
  checkPromoted(log, channel, waiting.predicate);
  checkNotRejected(log, channel, waiting.predicate);
  const awaiting = addApproval(waiting, await sign(waiting), root);
  if (!isApproved(awaiting, root)) {
    await releases.point(await writeAwaiting(layout, awaiting));
    return { outcome: 'awaiting', awaiting, version: previous?.predicate.version ?? 0 };
  }
  const { plan } = awaiting;
  // A bundle that is built again after a rotation stays in its stage.
  const stays = previous && bundlesOf(previous).includes(awaiting.bundle);
  if (stays && (await isStillSigned(layout, previous, awaiting.bundle, root))) {
    await releases.point(await restateBundle(layout, channel, awaiting.bundle, awaiting), [
      awaitingReference(channel),
    ]);
    await sendRestatements(keys, awaiting.files);
    return { outcome: 'restated', awaiting, version: previous.predicate.version };
  }
  if (plan && !stays) await startRollout(releases, keys, plan, now);
  const first = plan?.plan.stages[0]?.rollout ?? EVERYONE;
  const { kind, digest, size, manifest, config } = await readBundle(layout.blobs, waiting.bundle);
  const { mediaType, artifactType } = manifest;
  const { version, artifact, references } = await writeRelease(layout, keys, {
    channel,
    bundle: {
      kind,
      digest,
      manifest: defined({ mediaType, digest, size, artifactType }),
      minAgent: config.requirements.agent ?? null,
    },
    candidate: awaiting.candidate,
    bundleStatements: awaiting.files,
    previous,
    rollout: stays ? previous.predicate.rollout : first,
    documents: plan ? [planDocument(channel, plan)] : [],
    revocations,
    now,
  });
  const past = releaseReferences(channel, artifact, previous);
  await releases.point(new Map([...references, ...past]), [awaitingReference(channel)]);
  return { outcome: 'released', awaiting, version };
};

/**
 * Whether the release needs no other signatures, and its own statement says what was tried: without that a release is due, as in a build.
 */
const isStillSigned = async (
  layout: Layout,
  release: StoredRelease,
  bundle: Digest,
  { roles }: TrustRoot,
): Promise<boolean> => {
  const what = `the statement of bundle ${shortDigest(bundle)}`;
  const files = validUnder(await readBundleStatements(layout, release, bundle), roles.bundle, what);
  if (!meetThreshold(files, roles.bundle, what)) return false;
  const [own] = await lineagesOf(layout, release);
  return own?.shared !== undefined && own.held.length === 0;
};

/**
 * Adds one signature to a bundle that awaits approval.
 * @param file a sigstore bundle as cosign writes it
 * @returns the same record with the file appended; nothing is written
 * @throws FleetError PAYLOAD_MISMATCH if the file signs another statement, THRESHOLD if its key has already signed,
 *   UNKNOWN_KEY, BAD_SIGNATURE, BUNDLE_FORMAT
 */
const addApproval = (awaiting: Awaiting, file: Buffer, root: TrustRoot): Awaiting => {
  const channel = formatChannel(awaiting.channel);
  const what = `the approval of ${channel}`;
  const { payload, hint } = verifyEnvelope(file, root.roles.bundle.keys, what);
  if (!payload.equals(awaiting.payload)) {
    throw new FleetError('PAYLOAD_MISMATCH', `${what} is for another statement than the one that waits`, {
      hint: `A newer bundle may have taken its place; export again: fleet-scheduler approvals export ${channel}`,
    });
  }
  if (signersOf(awaiting).includes(hint)) {
    throw new FleetError('THRESHOLD', `${what} is by a key that has signed already`, {
      subject: hint,
      hint: 'Another bundle signer has to approve it',
    });
  }
  return { ...awaiting, files: [...awaiting.files, file] };
};
