import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import type { Candidate } from '#bundles/formats/candidate';
import { canonicalBytes } from '#bundles/json/canonical';
import { layerRole } from '../../model/images/layer-role.ts';

/**
 * Digest of the parts that a candidate shares with later environments: role, path and tree of each source except the
 * environment's own layer. Commits do not count, so that a commit without changes in the files that were read gives the same
 * digest.
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
