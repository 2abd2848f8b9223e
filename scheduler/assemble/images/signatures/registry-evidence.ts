import type { Digest } from '#bundles/digest';
import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { OCI_EMPTY, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { signatureTag } from '#bundles/transport/registry/attach-referrer';
import type { Repository } from '#bundles/transport/registry/registry';
import { type ImageSignature, readSignatures } from '#bundles/trust/images/read-signatures';
import { isFatalForJudging } from '../../../model/problems.ts';
import type { EvidencePlace } from './evidence-place.ts';

/** Upper bound on referrers that are read (docs/bundle-format.md section 15): every client with push access can add some. */
const MAX_REFERRERS = 50;

/** Some registries list a referrer by the type of its config. */
const MAY_BE_SIGNATURE: ReadonlySet<string | undefined> = new Set([SIGSTORE_BUNDLE, OCI_EMPTY, undefined]);

/** Operations on the repository of an image. */
export type SignedRepository = Pick<Repository, 'name' | 'blobs' | 'referrers' | 'fetchManifest'>;

/**
 * Signatures beside an image in its registry: referrers, by the API or by its fallback tag, and the tag 'sha256-<hex>.sig'. A
 * host that did not answer once is not asked again.
 */
export const registryEvidence = (repositoryOf: (name: string) => SignedRepository): EvidencePlace => {
  const silent = new Map<string, FleetError>();
  const each = async <T>(
    names: readonly string[],
    ask: (repository: SignedRepository) => Promise<readonly T[]>,
  ): Promise<readonly T[]> => {
    const found: T[] = [];
    for (const name of new Set(names.map((one) => one.replace(/@.*$/, '')))) {
      const host = name.slice(0, name.indexOf('/'));
      const before = silent.get(host);
      if (before) throw before;
      try {
        found.push(...(await ask(repositoryOf(name))));
      } catch (error) {
        if (isFleetError(error, 'REGISTRY_UNREACHABLE')) silent.set(host, error);
        throw error;
      }
    }
    return found;
  };
  return {
    name: 'its registry',
    signatures: (about, names, signal) =>
      each(names, (repository) => signaturesIn(repository, about, signal)),
    indexes: async (_manifest, names, noted, signal) =>
      noted === undefined
        ? []
        : each(names, async (repository) => {
            const fetched = await repository.fetchManifest(noted, signal);
            return fetched ? [fetched.bytes] : [];
          }),
  };
};

const signaturesIn = async (
  repository: SignedRepository,
  about: Digest,
  signal: AbortSignal,
): Promise<readonly ImageSignature[]> => {
  const referrers = await repository.referrers(about, signal);
  const simple = await repository.fetchManifest(signatureTag(about), signal);
  const manifests = [
    ...referrers.filter(({ artifactType }) => MAY_BE_SIGNATURE.has(artifactType)).slice(0, MAX_REFERRERS),
    ...(simple ? [simple.descriptor] : []),
  ];
  const found: ImageSignature[] = [];
  for (const { digest } of manifests) {
    try {
      found.push(...(await readSignatures(repository.blobs, digest, signal)).signatures);
    } catch (error) {
      const known = toFleetError(error);
      if (isFatalForJudging(known) || known.code.startsWith('REGISTRY_')) throw known;
    }
  }
  return found;
};
