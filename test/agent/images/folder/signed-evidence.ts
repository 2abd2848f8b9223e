import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { PREDICATES } from '#bundles/media-types';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import type { ImageEvidence } from '../../../../agent/model/image-provider.ts';
import type { SignedFleet } from '../../../harness/fleets/signed-fleet.ts';
import { type Blobs, sourceOf } from '../image-fixture.ts';
import { kubernetesBundle } from '../kubernetes-bundle.ts';

const CHANNEL = { environment: 'prod', clusterType: 'edge' };

export type Signers = { readonly bundle?: SigningKey; readonly release?: SigningKey; readonly of?: string };

/** The evidence that an agent hands over for a release with these images, by default signed by the keys of the fleet. */
export const signedEvidence = async (
  fleet: SignedFleet,
  blobs: Blobs,
  images: readonly ClosureEntry[],
  {
    bundle: bundleKey = fleet.keys.bundle,
    release: releaseKey = fleet.keys.release,
    of = fleet.fleet,
  }: Signers = {},
): Promise<ImageEvidence> => {
  const { digest } = await kubernetesBundle(blobs, images);
  const built = {
    fleet: of,
    ...CHANNEL,
    kind: 'kubernetes',
    candidate: digest,
    sources: [],
    held: [],
    builder: 'test',
    builtAt: formatTime(new Date(0)),
  };
  const released = {
    audience: { fleet: of, ...CHANNEL },
    version: 1,
    rollout: { percent: 100 },
    rootVersion: 1,
    issuedAt: formatTime(new Date(0)),
    expires: formatTime(new Date(1000)),
    previous: null,
    minAgent: null,
    minSiteVersion: 0,
    auditHead: null,
    critical: [],
  };
  const statement = encodeStatement([{ name: 'bundle', digest }], PREDICATES.bundle, built);
  const release = encodeStatement([{ name: 'bundle/kubernetes', digest }], PREDICATES.release, released);
  return {
    roots: fleet.roots,
    release: [await signPayload(release, releaseKey)],
    bundles: [{ digest, envelopes: [await signPayload(statement, bundleKey)] }],
    blobs: sourceOf(blobs),
  };
};
