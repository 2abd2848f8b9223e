import { packageNames } from '../../formats/bundle/package-names.ts';
import { type Descriptor, MAX_MANIFEST_BYTES } from '../../formats/layout/manifest.ts';
import { compareBytes, type Digest } from '../../digest.ts';
import { isFleetError } from '../../errors.ts';
import { parseArtifact } from '../../formats/layout/artifact.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import type { TargetRepository } from './destination.ts';
import { readSignedRelease } from './read-version.ts';
import { underNewestRoot } from './under-newest-root.ts';

type Comparison = {
  readonly repository: string;
  /** The release in the layout. */
  readonly artifact: Descriptor;
  /** The release that is published. */
  readonly before: Descriptor;
  readonly roots: readonly TrustRoot[];
  readonly signal: AbortSignal;
};

/**
 * Names of the packages in the published release that are not in the layout's. For information only: undefined when the
 * published release cannot be read completely.
 */
export const findRemoved = async (
  layout: BlobSource,
  target: Pick<TargetRepository, 'name' | 'blobs'>,
  { repository, artifact, before, roots, signal }: Comparison,
): Promise<readonly string[] | undefined> => {
  try {
    const there = await bundlesIn(target.blobs, repository, before, roots);
    const here = await bundlesIn(layout, repository, artifact, roots);
    const [old, now] = [
      there.filter((one) => !here.includes(one)),
      here.filter((one) => !there.includes(one)),
    ];
    // A build keeps the bundles of its past releases: mostly nothing is fetched.
    const isPresent = await Promise.all(old.map(async (digest) => (await layout.size(digest)) !== undefined));
    const gone = await packageNames(isPresent.every(Boolean) ? layout : target.blobs, old, signal);
    const kept = await packageNames(layout, now, signal);
    return [...gone.difference(kept)].toSorted(compareBytes);
  } catch (error) {
    if (isFleetError(error) && error.exitCode !== 1) return undefined;
    throw error;
  }
};

/** The bundles that a release names, by whichever of the fleet's roots vouches for it. */
const bundlesIn = async (
  blobs: BlobSource,
  repository: string,
  { digest }: Descriptor,
  roots: readonly TrustRoot[],
): Promise<readonly Digest[]> => {
  const documents = parseArtifact(await readBlob(blobs, digest, MAX_MANIFEST_BYTES), {
    what: `${repository}:release`,
  });
  const { value } = await underNewestRoot(roots, (root) =>
    readSignedRelease(repository, blobs, documents, root),
  );
  return value.statement.subjects.flatMap(({ name, digest: bundle }) =>
    name.startsWith('bundle/') ? [bundle] : [],
  );
};
