import { FleetError } from '#bundles/errors';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import { checkImages } from '#bundles/trust/images/check-images';
import { parseTrustedRoot } from '#bundles/trust/images/trusted-root';
import {
  type Blobs,
  closureEntry,
  putImage,
  putLayer,
  sourceOf,
} from '../../../agent/images/image-fixture.ts';
import type { Identity, RootParts, Sigstore } from '../../../harness/sigstore/sigstore.ts';
import type { certifySimply, certifyWithBundle, Proofs } from './sign-by-certificate.ts';
import { withAttachments } from './sign-image.ts';

export const ISSUER = 'https://token.actions.example';
export const IDENTITY = 'https://git.example/team/app/.github/workflows/release.yml@refs/tags/v1.2.3';
export const WHO = { identity: IDENTITY, issuer: ISSUER };

/** A policy of the team whose trusted root is that of the instance, with other parts where a test wants them. */
export const certificatePolicy = (
  sigstore: Sigstore,
  parts: Partial<RootParts> = {},
  { identity, issuer }: Identity = WHO,
): ImagePolicy => ({
  name: 'team',
  match: ['registry.example/team/**'],
  except: [],
  keys: [],
  certificates: {
    trustedRoot: parseTrustedRoot(sigstore.trustedRoot(parts)),
    signers: [{ issuer, identity }],
  },
});

type Signing = {
  readonly by: Sigstore;
  readonly who?: Identity;
  readonly proofs?: Proofs;
  /** Signs another image than the one that it lies beside. */
  readonly another?: boolean;
};

/** How an image with such a signature is judged: 'holds', or the message. */
export const judgedImage = async (
  form: typeof certifySimply | typeof certifyWithBundle,
  wanted: ImagePolicy,
  { by, who = WHO, proofs = {}, another = false }: Signing,
): Promise<string> => {
  const blobs: Blobs = new Map();
  const image = putImage(blobs, { layers: [await putLayer(blobs, { app: 'app' })] });
  const signed = another ? putImage(blobs, { layers: [await putLayer(blobs, { app: 'another' })] }) : image;
  const signature = await form(blobs, signed, by, who, proofs);
  const closure = withAttachments(blobs, closureEntry(image, 'registry.example/team/app'), signature);
  return verdictOf(blobs, closure, wanted);
};

export const verdictOf = async (
  blobs: Blobs,
  closure: readonly ClosureEntry[],
  wanted: ImagePolicy,
): Promise<string> => {
  try {
    await checkImages(sourceOf(blobs), { closure, imagePolicy: [wanted] }, []);
    return 'holds';
  } catch (error) {
    if (!(error instanceof FleetError) || error.code !== 'IMAGE_UNSIGNED') throw error;
    return error.message;
  }
};
