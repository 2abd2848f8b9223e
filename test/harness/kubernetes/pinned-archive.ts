import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Descriptor } from '../../../bundles/formats/layout/manifest.ts';
import { canonicalBytes } from '../../../bundles/json/canonical.ts';
import { findReference, openLayout } from '../../../bundles/formats/layout/layout.ts';
import { OCI_INDEX } from '../../../bundles/media-types.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { ARCHITECTURE, CONTAINERD_NAME } from './busybox-image.ts';

/**
 * Writes images of an OCI layout as a tar for `ctr images import`, `k3d image import` and whatever else knows OCI archives,
 * by all names that a release may give them: with the digest of the index, and with that of this machine's platform in it,
 * which is the one locked for a fleet of one platform. A kubelet asks for the very name that a manifest says.
 * @param names as the layout has them, with a tag
 */
export const writePinnedArchive = async (
  layoutDirectory: string,
  names: readonly string[],
  path: string,
): Promise<void> => {
  const layout = await openLayout(layoutDirectory);
  const manifests: Descriptor[] = [];
  for (const name of names) {
    const found = findReference(layout, name);
    if (found === undefined) throw new Error(`${name} is not in ${layoutDirectory}`);
    for (const { mediaType, digest, size } of [found, ...(await platformsOf(layoutDirectory, found))]) {
      const pinned = `${name.slice(0, name.lastIndexOf(':'))}@${digest}`;
      manifests.push({ mediaType, digest, size, annotations: { [CONTAINERD_NAME]: pinned } });
    }
  }
  await using work = await temporaryDirectory('archive');
  const top = join(work.path, 'top');
  await mkdir(top);
  await writeFile(join(top, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const index = { schemaVersion: 2, mediaType: OCI_INDEX, manifests };
  await writeFile(join(top, 'index.json'), canonicalBytes(index));
  const parts = [`--directory=${top}`, 'oci-layout', 'index.json', `--directory=${layoutDirectory}`, 'blobs'];
  await runOrFail(['tar', '--create', `--file=${path}`, ...parts]);
};

/** The images of an index that run here. */
const platformsOf = async (
  directory: string,
  { mediaType, digest }: Descriptor,
): Promise<readonly Descriptor[]> => {
  if (mediaType !== OCI_INDEX) return [];
  const text = await readFile(join(directory, 'blobs', digest.replace(':', '/')), 'utf8');
  const { manifests } = JSON.parse(text) as { readonly manifests: readonly Descriptor[] };
  return manifests.filter(({ platform }) => platform?.architecture === ARCHITECTURE);
};
