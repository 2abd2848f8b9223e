import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, digestOf } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import { formatChannel } from '#bundles/names';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { fingerprint } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readRelease } from '../../load/releases/read-release.ts';
import { type Awaiting, signersOf } from './awaiting.ts';
import { type BundleChanges, compareBundles } from './compare-bundles.ts';

/** The summary shown to an approver before they sign. */
export type Waiting = {
  readonly channel: string;
  readonly bundle: Digest;
  /** The current release of the channel; 0 if there is none. */
  readonly runningRelease: number;
  readonly runningBundle: Digest | null;
  readonly changes: BundleChanges;
  /** The whole predicate, because it is what the approver signs. */
  readonly statement: BundlePredicate;
  /** SHA-256 of the bytes to sign, as `sha256sum st.json` prints it. */
  readonly payload: Digest;
  /** SHA-256 of the public keys that have signed, in hex. */
  readonly signed: readonly string[];
  readonly needed: number;
};

/**
 * Describes a bundle that awaits approval, compared with the channel's current release.
 * @param roots all roots of the fleet, oldest first
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, LAYOUT_INVALID, SCHEMA if a bundle or the current release is damaged
 */
export const describeWaiting = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  root: TrustRoot,
  awaiting: Awaiting,
): Promise<Waiting> => {
  const { channel, bundle, payload, predicate } = awaiting;
  const running = await readRelease(layout, channel, roots);
  const before = running?.subjects.get(`bundle/${predicate.kind}`);
  const config = async (digest: Digest) => (await readBundle(layout.blobs, digest)).config;
  const signers = new Set(signersOf(awaiting));
  return {
    channel: formatChannel(channel),
    bundle,
    runningRelease: running?.predicate.version ?? 0,
    runningBundle: before ?? null,
    changes: compareBundles(before && (await config(before)), await config(bundle)),
    statement: predicate,
    payload: digestOf(payload),
    signed: root.roles.bundle.keys.filter(({ hint }) => signers.has(hint)).map(fingerprint),
    needed: root.roles.bundle.threshold,
  };
};
