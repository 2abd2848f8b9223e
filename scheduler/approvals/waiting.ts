import { readBundle } from '#bundles/bundle/read-bundle';
import { type Digest, digestOf } from '#bundles/digest';
import type { Layout } from '#bundles/layout/layout';
import { formatChannel } from '#bundles/names';
import type { BundlePredicate } from '#bundles/statements/predicates';
import { fingerprint } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import { readRelease } from '../publish/read-release.ts';
import { type Awaiting, signersOf } from './awaiting.ts';
import { type BundleChanges, compareBundles } from './compare-bundles.ts';

/** What an approver is told before they sign. */
export type Waiting = {
  readonly channel: string;
  readonly bundle: Digest;
  /** The release that sites have meanwhile; 0: none. */
  readonly runningRelease: number;
  readonly runningBundle: Digest | null;
  readonly changes: BundleChanges;
  /** All that the statement says, for it is what is signed. */
  readonly statement: BundlePredicate;
  /** SHA-256 of the exact bytes: what `sha256sum st.json` prints. */
  readonly payload: Digest;
  /** SHA-256 of the public keys that have signed, in hex. */
  readonly signed: readonly string[];
  readonly needed: number;
};

/** @param roots of the fleet, oldest first @throws FleetError where a bundle or the release in the layout is damaged */
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
