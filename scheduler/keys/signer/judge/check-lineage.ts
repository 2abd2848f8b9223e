import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BundlePredicate, ReleasePredicate } from '#bundles/formats/statements/predicates';
import { PREDICATES } from '#bundles/media-types';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import type { Subject } from '#bundles/trust/statements/verify-statement';
import type { SignedVersion } from '../state/open-state.ts';
import { findStatements } from './find-evidence.ts';
import type { Judging, Permit } from './judging.ts';

export type NamedBundle = { readonly subject: Subject; readonly said: BundlePredicate };

/** The shared digest that a bundle shows to be in its environment. With held assignments it shows none: they were not tried there. */
export const triedIn = ({ said: { shared, held } }: NamedBundle): Digest | undefined =>
  held.length === 0 ? shared : undefined;

/**
 * Checks the bundles of a release against the signer's own chain. In a chained environment each one was built from what the
 * newest promotion names, or is named by the release before as well: so releases are renewed between a promotion and the next
 * build.
 * @returns what this release shows to be in its environment; undefined outside of the chain
 * @throws FleetError NOT_PROMOTED; UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD for the release before
 */
export const checkLineage = (
  release: {
    readonly said: ReleasePredicate;
    readonly what: string;
    readonly known: readonly SignedVersion[];
  },
  bundles: readonly NamedBundle[],
  judging: Judging,
): Permit['released'] => {
  const { said, what } = release;
  const { environment } = said.audience;
  const { chain, state } = judging;
  const isChained = chain.some((link) => link.environment === environment);
  if (!isChained && !chain.some((link) => link.promotedFrom === environment)) return undefined;
  if (isChained) {
    const newest = state.promoted(environment);
    const kept = keptBundles(release, judging);
    for (const bundle of bundles) {
      const { promoted } = bundle.said;
      if (promoted !== undefined && promoted === newest) continue;
      if (kept.has(`${bundle.subject.name} ${bundle.subject.digest}`)) continue;
      throw new FleetError(
        'NOT_PROMOTED',
        `${what}: bundle ${shortDigest(bundle.subject.digest)} was built from ${promoted === undefined ? 'no promoted candidate' : shortDigest(promoted)}, and ${newest === undefined ? 'no candidate' : shortDigest(newest)} was promoted to ${environment}`,
        {
          subject: bundle.subject.digest,
          hint: `Promote with: fleet-scheduler promote ${environment}, then build`,
        },
      );
    }
  }
  // Of two bundles of one candidate both must show it.
  const untried = new Set(bundles.flatMap((bundle) => (triedIn(bundle) ? [] : (bundle.said.shared ?? []))));
  const shared = bundles.flatMap((bundle) => triedIn(bundle) ?? []).filter((digest) => !untried.has(digest));
  return { environment, shared: [...new Set(shared)] };
};

/** Name and digest of the bundles of the release before, if that is the newest that this signer knows, and the request has it. */
const keptBundles = (
  { said, what, known }: Parameters<typeof checkLineage>[0],
  { evidence, roots }: Judging,
): ReadonlySet<string> => {
  const { previous } = said;
  const [last] = known;
  // The newest one may have been signed and never published: then its own predecessor is the one before.
  if (previous === null || (last && last.payload !== previous && last.previous !== previous))
    return new Set();
  const files = findStatements(evidence, (_, payload) => payload === previous);
  if (files.length === 0) return new Set();
  const { verified } = verifyUnder(files, roots, 'release', PREDICATES.release, `the release before ${what}`);
  return new Set(verified.subjects.map(({ name, digest }) => `${name} ${digest}`));
};
