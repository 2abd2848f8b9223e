import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { type Digest, hexOf } from '#bundles/digest';
import {
  COSIGN_SIGNATURE,
  IN_TOTO_STATEMENT,
  OCI_EMPTY,
  OCI_MANIFEST,
  SIGNED_INDEX,
  SIGNED_INDEX_JSON,
  SIGSTORE_BUNDLE,
  SIMPLE_SIGNING,
} from '#bundles/media-types';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import { COSIGN_SIGN } from '#bundles/trust/images/read-signatures';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { SigningKey } from '#bundles/trust/keys/key';
import { type Blobs, put, putJson } from '../../../agent/images/image-fixture.ts';

/** Signatures of images in both forms that cosign makes, field by field as cosign 3.1.1 writes them. */

type Subject = Pick<Descriptor, 'mediaType' | 'digest' | 'size'>;

const emptyConfig = (blobs: Blobs): Descriptor => put(blobs, OCI_EMPTY, Buffer.from('{}'));

/** cosign sign: a referrer with a sigstore bundle. */
export const signWithBundle = async (
  blobs: Blobs,
  { mediaType, digest, size }: Subject,
  key: SigningKey,
  { predicateType = COSIGN_SIGN, about = digest }: { predicateType?: string; about?: Digest } = {},
): Promise<Descriptor> => {
  const statement = canonicalBytes({
    _type: IN_TOTO_STATEMENT,
    subject: [{ digest: { sha256: hexOf(about) }, annotations: {} }],
    predicateType,
    predicate: {},
  });
  const layer = put(blobs, SIGSTORE_BUNDLE, await signPayload(statement, key));
  return putJson(blobs, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: SIGSTORE_BUNDLE,
    config: emptyConfig(blobs),
    layers: [layer],
    subject: { mediaType, digest, size },
  });
};

/** cosign sign --new-bundle-format=false: layers of one manifest, one by each key. */
export const signSimply = async (
  blobs: Blobs,
  digest: Digest,
  ...keys: readonly SigningKey[]
): Promise<Descriptor> => {
  const payload: Json = {
    critical: {
      identity: { 'docker-reference': 'registry.example/team/app' },
      image: { 'docker-manifest-digest': digest },
      type: 'cosign container image signature',
    },
    optional: null,
  };
  const bytes = canonicalBytes(payload);
  const layer = put(blobs, SIMPLE_SIGNING, bytes);
  const signed = keys.map(async (key) => (await key.sign(bytes)).toString('base64'));
  const layers = (await Promise.all(signed)).map((text) => ({
    ...layer,
    annotations: { [COSIGN_SIGNATURE]: text },
  }));
  const config = emptyConfig(blobs);
  return putJson(blobs, OCI_MANIFEST, { schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers });
};

/** An index as evidence, as docs/bundle-format.md section 4 has it. */
export const putSignedIndex = (blobs: Blobs, index: Buffer): Descriptor =>
  putJson(blobs, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: SIGNED_INDEX,
    config: emptyConfig(blobs),
    layers: [put(blobs, SIGNED_INDEX_JSON, index)],
  });

/** The closure of an image with these attachments: the image, then every blob of each attachment. */
export const withAttachments = (
  blobs: Blobs,
  image: ClosureEntry,
  ...attachments: readonly Descriptor[]
): readonly ClosureEntry[] => {
  const parts = attachments.flatMap(({ mediaType, digest, size }) => {
    const manifest = JSON.parse((blobs.get(digest) as Buffer).toString()) as {
      config: Descriptor;
      layers: readonly Descriptor[];
    };
    return [{ mediaType, digest, size }, manifest.config, ...manifest.layers];
  });
  const files = new Map(
    parts.map(({ mediaType, digest, size }): [Digest, ClosureEntry] => [digest, { mediaType, digest, size }]),
  );
  return [{ ...image, attachments: attachments.map(({ digest }) => digest) }, ...files.values()];
};

export const policyOf = (key: SigningKey, more: Partial<ImagePolicy> = {}): ImagePolicy => ({
  name: 'team',
  match: ['registry.example/team/**'],
  except: [],
  keys: [key.public.pem],
  ...more,
});
