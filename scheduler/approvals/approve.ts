import { readBundle } from '#bundles/bundle/read-bundle';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { checkRootExpiry } from '#bundles/trust/root';
import type { Releases } from '../publish/open-releases.ts';
import { publishRelease } from '../publish/publish-release.ts';
import { readPrevious } from '../publish/read-previous.ts';
import { awaitingReference } from '../publish/references.ts';
import { findRevoked, readRevocations } from '../publish/revocation-list.ts';
import { releaseReferences } from '../reissue/reissue-release.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { addApproval } from './add-approval.ts';
import { type Awaiting, readAwaiting, writeAwaiting } from './awaiting.ts';
import { isApproved } from './sign-bundle.ts';

export type Approval = {
  readonly channel: Channel;
  /** A signature file about exactly what waits: of a file that somebody brought, or made now. */
  readonly sign: (awaiting: Awaiting) => Promise<Buffer>;
  readonly now: Date;
};

export type Approved = {
  readonly outcome: 'released' | 'awaiting';
  readonly awaiting: Awaiting;
  /** Of the new release; of the running one while it waits. */
  readonly version: number;
};

/** @throws FleetError NOTHING_AWAITING */
export const requireAwaiting = async (
  layout: Layout,
  channel: Channel,
  keys: KeyDirectory,
): Promise<Awaiting> => {
  const awaiting = await readAwaiting(layout, channel, keys.root);
  if (awaiting) return awaiting;
  throw new FleetError('NOTHING_AWAITING', `nothing of ${formatChannel(channel)} waits for an approval`, {
    hint: 'See what does with: fleet-scheduler approvals',
  });
};

/**
 * Adds a signature to what waits, and releases it when there are enough: the next number, from now on.
 * @throws FleetError NOTHING_AWAITING, REVOKED, those of addApproval and publishRelease; nothing has changed then
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
  const revocations = await readRevocations(layout, root.fleet, channel, previous);
  const revoked = findRevoked(revocations, [waiting.bundle]);
  if (revoked) {
    throw new FleetError('REVOKED', `what waits was revoked at ${revoked.at}: ${revoked.reason}`, {
      subject: waiting.bundle,
      hint: 'Build again; what was revoked never comes back',
    });
  }
  const awaiting = addApproval(waiting, await sign(waiting), root);
  if (!isApproved(awaiting, root)) {
    await releases.point(await writeAwaiting(layout, awaiting));
    return { outcome: 'awaiting', awaiting, version: previous?.predicate.version ?? 0 };
  }
  const { kind, digest, size, manifest, config } = await readBundle(layout.blobs, waiting.bundle);
  const { mediaType, artifactType } = manifest;
  const { version, artifact, references } = await publishRelease(layout, keys, {
    channel,
    bundle: {
      kind,
      digest,
      manifest: { mediaType, digest, size, ...(artifactType !== undefined && { artifactType }) },
      minAgent: config.requirements.agent ?? null,
    },
    candidate: awaiting.candidate,
    bundleStatements: awaiting.files,
    previous,
    revocations,
    now,
  });
  const past = releaseReferences(channel, artifact, previous);
  await releases.point(new Map([...references, ...past]), [awaitingReference(channel)]);
  return { outcome: 'released', awaiting, version };
};
