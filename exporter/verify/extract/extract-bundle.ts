import { readdir } from 'node:fs/promises';
import { defined } from '#bundles/defined';
import { type BundleKind, type Channel, formatChannel } from '#bundles/names';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { ownBlobs, readBundle } from '#bundles/formats/bundle/read-bundle';
import { digestOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { writeLayoutIndex } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import type { MediumBundle, OpenMedium } from '#bundles/formats/medium/medium';
import { nameSome } from '#bundles/name-some';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { type Referrer, referrerOf } from '#bundles/formats/statements/referrer';
import { EMPTY_CONFIG } from '#bundles/formats/layout/artifact';
import { emptyMediumError } from '../../source/check/empty-medium-error.ts';

export type Extracted = {
  readonly bundle: Descriptor;
  readonly statements: number;
  readonly directory: string;
};

/** How cosign's own `save` marks the one image of a layout, by which `--local-image` finds it. */
const COSIGN_KIND = { kind: 'dev.cosignproject.cosign/image' };

/**
 * One bundle of a medium as an OCI layout of its own, with its statements as referrers, for
 * `cosign verify-attestation --local-image`. Checks digests; cosign verifies the signatures.
 * @throws FleetError CHANNEL_MISSING, MISSING_BASE, MEDIUM_EMPTY, USAGE, DIGEST_MISMATCH ...
 */
export const extractBundle = async (
  medium: OpenMedium,
  channel: Channel,
  kind: BundleKind,
  directory: string,
  signal?: AbortSignal,
): Promise<Extracted> => {
  await checkEmpty(directory);
  const entry = findBundle(medium, channel, kind);
  const bundle = await readBundle(medium.blobs, entry.digest, signal);
  const own = ownBlobs(bundle);
  await checkCarried(medium, entry, own);
  const to = openBlobDirectory(directory);
  for (const { digest, size } of own)
    await to.write(digest, size, await medium.blobs.open(digest, signal), signal);

  const { mediaType, artifactType } = bundle.manifest;
  const subject: Descriptor = defined({
    mediaType,
    digest: bundle.digest,
    size: bundle.size,
    artifactType,
  });
  const referrers: Referrer[] = [];
  await to.write(digestOf(EMPTY_CONFIG), EMPTY_CONFIG.byteLength, EMPTY_CONFIG);
  for (const document of medium.medium?.documents ?? []) {
    if (document.role !== 'bundle' || document.about !== bundle.digest) continue;
    const statement = await readBlob(medium.blobs, document.digest, MAX_STATEMENT_BYTES, signal);
    await to.write(document.digest, statement.byteLength, statement);
    const referrer = referrerOf(statement, subject, `the statement of bundle ${bundle.digest}`);
    await to.write(referrer.descriptor.digest, referrer.bytes.byteLength, referrer.bytes);
    referrers.push(referrer);
  }
  await writeLayoutIndex({ directory, blobs: to, manifests: [] }, [
    { ...subject, annotations: COSIGN_KIND },
    ...referrers.map(({ descriptor }) => descriptor),
  ]);
  return { bundle: subject, statements: referrers.length, directory };
};

const checkEmpty = async (directory: string): Promise<void> => {
  const entries = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw toFleetError(error, `opening ${directory}`);
  });
  if (entries.length === 0) return;
  throw new FleetError('USAGE', `${directory} is not empty`, {
    hint: 'cosign verifies a layout of exactly one bundle; give a new folder',
  });
};

const findBundle = ({ path, medium }: OpenMedium, channel: Channel, kind: BundleKind): MediumBundle => {
  if (!medium) throw emptyMediumError(path);
  const name = formatChannel(channel);
  const [entry, second] = medium.bundles.filter((it) => formatChannel(it) === name && it.kind === kind);
  if (second) throw new FleetError('EXTRA_BUNDLE', `${path} has two ${kind} bundles of ${name}`);
  if (entry) return entry;
  const there = medium.bundles.map((it) => `${formatChannel(it)} (${it.kind})`);
  throw new FleetError('CHANNEL_MISSING', `${path} has no ${kind} bundle of ${name}`, {
    hint: there.length > 0 ? `It has ${nameSome(there)}` : 'It has none at all',
  });
};

const checkCarried = async (
  { path, blobs }: OpenMedium,
  { assumed }: MediumBundle,
  own: readonly Descriptor[],
): Promise<void> => {
  for (const { digest } of own) {
    if ((await blobs.size(digest)) !== undefined) continue;
    const left = assumed.some((blob) => blob.digest === digest);
    throw new FleetError(
      left ? 'MISSING_BASE' : 'MISSING_BLOB',
      `${path} does not carry all of the bundle: ${left ? 'a delta leaves out' : 'it lacks'} a blob of its own`,
      { subject: digest, hint: 'Extract from a full medium' },
    );
  }
};
