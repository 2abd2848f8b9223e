import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import {
  type Descriptor,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '#bundles/formats/layout/manifest';
import { missingBlob, readBlob } from '#bundles/formats/layout/verified';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { type Digest, digestOf, hexOf, parseDigest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { OCI_MANIFEST } from '#bundles/media-types';
import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { ImageDetail } from '../host-step.ts';
import { runStep } from '../runner/run-step.ts';
import { stepError } from '../runner/step-error.ts';
import type { RunnerResult, StepContent } from '../step-request.ts';
import { readPodman, tagOf } from '../images/podman-storage.ts';

/** Long enough for tens of gigabytes on a slow disk. */
const TIMEOUT_SECONDS = 3600;

/**
 * Loads an image from the agent's store into Podman's storage; the runner verifies each blob, and afterwards Podman must have the
 * digest that the package names. @throws FleetError IMAGE_REFUSED, DISK_FULL, MISSING_BLOB; as runStep
 */
export const executeImage = async (
  options: HostTargetOptions,
  step: Step,
  { name }: ImageDetail,
  desired: DesiredPackage | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  const done = { key: step.key, outcome: step.outcome, reason: step.reason };
  if ((await readPodman(options.root)).find(name) !== 'missing') return done;
  const content = await directoryOf(name, desired?.blobs, signal);
  const result = await runStep(
    {
      kind: 'image',
      verb: 'load',
      tag: tagOf(name),
      content,
      timeoutSeconds: TIMEOUT_SECONDS,
      secrets: [],
    },
    options,
    signal,
  );
  if (result.outcome !== 'succeeded') throw refused(name, result);
  if ((await readPodman(options.root)).find(name) === 'missing')
    throw refused(name, { ...result, message: 'its storage does not have that digest afterwards' });
  return done;
};

/** Removes an image that the agent loaded. One that cannot be removed, because a container uses it, stays. @throws FleetError as runStep */
export const executeImageRemoval = async (
  options: HostTargetOptions,
  step: Step,
  { name }: ImageDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { key } = step;
  if ((await readPodman(options.root)).find(name) !== 'loaded')
    return { key, outcome: step.outcome, reason: step.reason };
  const { outcome, message } = await runStep(
    {
      kind: 'image',
      verb: 'remove',
      tag: tagOf(name),
      content: [],
      timeoutSeconds: TIMEOUT_SECONDS,
      secrets: [],
    },
    options,
    signal,
  );
  return outcome === 'succeeded'
    ? { key, outcome: step.outcome, reason: step.reason }
    : { key, outcome: 'skipped', reason: message };
};

const refused = (name: string, result: RunnerResult): FleetError =>
  stepError(
    'IMAGE_REFUSED',
    `Podman did not take ${name}: ${result.message}`,
    result,
    'podman info on the host says more about its storage',
  );

/**
 * The image as a directory of containers/image (containers-transports(5), `dir:`), which keeps every manifest as it is, so that Podman also
 * takes Docker's schema 2 by its digest: `oci:` holds OCI manifests only.
 */
const directoryOf = async (
  name: string,
  blobs: BlobSource | undefined,
  signal: AbortSignal,
): Promise<readonly StepContent[]> => {
  const digest = parseDigest(name.slice(name.indexOf('@') + 1), 'digest of the image');
  const size = await blobs?.size(digest);
  if (!blobs || size === undefined) throw missingBlob(digest, 'the store');
  const { mediaType } = parseManifest(await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal), name);
  const top = { mediaType: mediaType ?? OCI_MANIFEST, digest, size };
  const version = Buffer.from('Directory Transport Version: 1.1\n');
  return [
    {
      path: 'version',
      digest: digestOf(version),
      size: version.byteLength,
      bytes: version.toString('base64'),
    },
    ...(await imageBlobs(blobs, top, signal)).map((blob) => ({
      path: nameIn(blob, digest),
      digest: blob.digest,
      size: blob.size,
    })),
  ];
};

/** Manifests of an index lie beside it by their digest. */
const nameIn = ({ digest, mediaType }: Descriptor, top: Digest): string => {
  if (digest === top) return 'manifest.json';
  return isManifestType(mediaType) ? `${hexOf(digest)}.manifest.json` : hexOf(digest);
};
