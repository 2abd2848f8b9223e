import type { AcceptedBundle } from '#bundles/trust/accept/accept-release';
import { type BundleKind, type Channel, formatChannel } from '#bundles/names';
import { type Digest, shortDigest } from '#bundles/digest';
import type { Medium } from '#bundles/formats/medium/medium';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';

/** Provenance of a bundle from its verified statement. */
export type Provenance = {
  readonly channel: string;
  readonly kind: BundleKind;
  readonly bundle: Digest;
  readonly builder: string;
  readonly builtAt: string;
  readonly candidate: Digest;
  /** The candidate's document is on the medium too. */
  readonly candidateHere: boolean;
  readonly sources: BundlePredicate['sources'];
  readonly held: BundlePredicate['held'];
  readonly signedImages: number | undefined;
};

export const toProvenance = (
  { documents }: Pick<Medium, 'documents'>,
  channel: Channel,
  { kind, digest, predicate }: AcceptedBundle,
  signedImages: number | undefined,
): Provenance => {
  const { builder, builtAt, candidate, sources, held } = predicate;
  return {
    channel: formatChannel(channel),
    kind,
    bundle: digest,
    builder,
    builtAt,
    candidate,
    candidateHere: documents.some((it) => it.role === 'candidate' && it.digest === candidate),
    sources,
    held,
    signedImages,
  };
};

/** Lines for a terminal: the builder and the time, then each source. */
export const formatProvenance = (it: Provenance): readonly string[] => [
  `${it.kind} bundle ${it.channel} ${shortDigest(it.bundle)}: built ${it.builtAt} by ${it.builder} from candidate ${it.candidate}${it.candidateHere ? '' : ' (not on this medium)'}`,
  ...it.sources.map(
    ({ role, repo, path, ref, commit, tree }) =>
      `  ${role}: ${repo}${ref === undefined ? '' : `#${ref}`}${path === '.' || path === '' ? '' : ` ${path}`} at ${commit ?? shortDigest(tree)}`,
  ),
  ...it.held.map(({ assignment, code, message }) => `  held: ${assignment}: ${code}: ${message}`),
];
