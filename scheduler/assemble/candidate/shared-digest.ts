import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import type { Candidate } from '#bundles/formats/candidate';
import { canonicalBytes } from '#bundles/json/canonical';
import { layerRole } from '../../model/images/layer-role.ts';

/**
 * Digest of what a candidate shares with the environments after its own: the role, path and tree of each source but the
 * environment's own layer. Commits do not count, so a commit that changed no file that was read gives the same digest.
 */
export const sharedDigest = ({
  environment,
  sources,
}: Pick<Candidate, 'environment' | 'sources'>): Digest => {
  const own = environment === undefined ? undefined : layerRole(environment);
  return digestOf(
    canonicalBytes(
      sources
        .filter(({ role }) => role !== own)
        .map(({ role, path, tree }) => ({ role, path, tree }))
        .toSorted((a, b) => compareBytes(a.role, b.role) || compareBytes(a.path, b.path)),
    ),
  );
};
