import type { BundleConfig, ClosureEntry } from '../../formats/bundle/config.ts';
import { isManifestType, parseImageManifest } from '../../formats/layout/manifest.ts';
import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { type ImagePolicy, policiesOn } from '../../formats/bundle/image-policy.ts';
import { type ImageSignature, MAX_SIGNATURE_MANIFEST, readSignatures } from './read-signatures.ts';
import { isWrappedIndex, namedBy } from './signed-index.ts';
import { type FoundSignatureSet, satisfiesPolicy, whyUnsatisfied } from './satisfies-policy.ts';

/** An index names some dozens of manifests; registries take no more than this. */
const MAX_INDEX_BYTES = 4 << 20;

/**
 * Judges the images of a bundle by the signatures in its own closure and nothing else, so it needs no network: each image must
 * satisfy every policy it is under, the bundle's and the reader's.
 * @param source blobs with the signatures and attestations
 * @param more policies of the reader
 * @returns how many images are under a policy
 * @throws FleetError IMAGE_UNSIGNED; MISSING_BLOB, DIGEST_MISMATCH ... where evidence is not what the closure says
 */
export const checkImages = async (
  source: BlobSource,
  { closure, imagePolicy = [] }: Pick<BundleConfig, 'closure' | 'imagePolicy'>,
  more: readonly ImagePolicy[],
  signal?: AbortSignal,
): Promise<number> => {
  const policies = [...imagePolicy, ...more];
  if (policies.length === 0) return 0;
  // A larger manifest is another attachment, not a signature.
  const carried = new Set(
    closure.flatMap(({ digest, mediaType, size }) =>
      isManifestType(mediaType) && size > MAX_SIGNATURE_MANIFEST ? [] : [digest],
    ),
  );
  const evidence = only(source, carried);
  let judged = 0;
  for (const entry of closure) {
    const on = isManifestType(entry.mediaType) ? policiesOn(policies, entry.names ?? []) : [];
    if (on.length === 0) continue;
    judged += 1;
    const vouchers = await readVouchers(evidence, entry, carried, signal);
    const failed = await firstUnsatisfied(on, vouchers);
    if (!failed) continue;
    throw new FleetError(
      'IMAGE_UNSIGNED',
      `the image ${entry.names?.[0] ?? shortDigest(entry.digest)} ${await whyUnsatisfied(vouchers, failed)}`,
      {
        subject: entry.digest,
        hint: more.includes(failed)
          ? 'This machine requires that signature: ask the platform team for a release that carries it'
          : 'Ask the platform team for another release',
      },
    );
  }
  return judged;
};

const firstUnsatisfied = async (
  policies: readonly ImagePolicy[],
  { signatures, about }: FoundSignatureSet,
): Promise<ImagePolicy | undefined> => {
  for (const policy of policies) {
    const judged = signatures.map((one) => satisfiesPolicy(one, policy, about));
    if (!(await Promise.all(judged)).includes(true)) return policy;
  }
  return undefined;
};

/** Restricts the source to the closure: other blobs would not be available at the next site. */
const only = (source: BlobSource, carried: ReadonlySet<Digest>): BlobSource => ({
  name: source.name,
  open: source.open,
  size: async (digest) => (carried.has(digest) ? source.size(digest) : undefined),
});

const readVouchers = async (
  source: BlobSource,
  { digest, attachments = [] }: ClosureEntry,
  carried: ReadonlySet<Digest>,
  signal: AbortSignal | undefined,
): Promise<FoundSignatureSet> => {
  const beside = { digest, attachments: attachments.filter((it) => carried.has(it)) };
  const { about, found: signatures } = await readBeside<ImageSignature>(
    source,
    beside,
    async (attachment) => (await readSignatures(source, attachment, signal)).signatures,
    signal,
  );
  return { signatures, about };
};

/**
 * Reads the attachments of an image.
 * @param read reads one of them that is not an index
 * @returns the attachments, and the digests that they may refer to: the image, and indexes beside it that name the image
 */
export const readBeside = async <T>(
  source: BlobSource,
  { digest, attachments = [] }: Pick<ClosureEntry, 'digest' | 'attachments'>,
  read: (attachment: Digest) => Promise<readonly T[]>,
  signal: AbortSignal | undefined,
): Promise<{ readonly about: ReadonlySet<Digest>; readonly found: readonly T[] }> => {
  const about = new Set([digest]);
  const found: T[] = [];
  for (const attachment of attachments) {
    const bytes = await readBlob(source, attachment, MAX_SIGNATURE_MANIFEST, signal);
    const manifest = parseImageManifest(bytes, `the attachment ${attachment}`);
    const [layer] = manifest.layers;
    if (layer && isWrappedIndex(manifest)) {
      const index = await readBlob(source, layer.digest, MAX_INDEX_BYTES, signal);
      if (namedBy(index).includes(digest)) about.add(layer.digest);
    } else found.push(...(await read(attachment)));
  }
  return { about, found };
};
