import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { CandidateSource, PromotionPredicate } from '#bundles/formats/statements/predicates';
import { toCandidateSource } from '../../assemble/candidate/create-candidate.ts';
import {
  loadPlace,
  openTreeChain,
  openTreeLayout,
  type PlaceOptions,
} from '../../deliver/tree/load-place.ts';
import type { PromotionStory } from '../../deliver/git/promotion-text.ts';
import { readRoot, sourcesOf } from '../../load/load-platform.ts';
import { throwProblems } from '../../model/problems.ts';
import { loadPolicies } from '../../release/chain/open-chain.ts';
import type { Platform } from '../../model/model.ts';
import { type ExplainedPair, explainPlatform, type ExplainQuestion } from './explain-platform.ts';

export type ExplainedSource = CandidateSource & {
  /** `promoted`: read as in the candidate. `direct`: the environment's own layer, which needs no promotion. */
  readonly by: 'promoted' | 'direct';
};

/** The promotion in the audit log that a chained environment is built from. */
export type ExplainedPromotion = Pick<
  PromotionPredicate,
  'from' | 'number' | 'mode' | 'person' | 'reason' | 'time'
> & { readonly candidate: Digest; readonly sources: readonly ExplainedSource[] };

export type ExplainedEnvironment =
  | {
      readonly kind: 'explained';
      /** undefined: it is built from the newest state. */
      readonly promotion: ExplainedPromotion | undefined;
      readonly pairs: readonly ExplainedPair[];
    }
  /** NOT_PROMOTED: nothing is built, so there is nothing to explain. */
  | { readonly kind: 'waiting'; readonly why: FleetError };

/**
 * Explains what the build of an environment reads: for a chained one the promoted candidate with the environment's own layer. Without a layout it is
 * the newest state.
 * @throws FleetError as explainPlatform; the codes of loadPlace and openTreeChain; the platform's problems
 */
export const explainEnvironment = async (
  options: PlaceOptions,
  environment: string,
  question: ExplainQuestion,
): Promise<ExplainedEnvironment> => {
  const sources = options.sources ?? sourcesOf(options);
  const reading = { ...options, sources };
  const place = await loadPlace(reading, environment, await openChainOf(reading));
  if (place.kind === 'waiting') return place;
  if (place.kind === 'invalid') throwProblems(place.problems, 'the folder promotion/');
  if (place.kind !== 'loaded') throw new FleetError('INTERNAL', 'no problem was reported');
  const { platform, promotion } = place;
  return {
    kind: 'explained',
    promotion: promotion && explainPromotion(promotion, platform),
    pairs: explainPlatform(platform, question),
  };
};

const openChainOf = async (options: PlaceOptions & Required<Pick<PlaceOptions, 'sources'>>) => {
  if (options.layout === undefined) return undefined;
  const root = await readRoot(options.platform, options.sources);
  const policies = () => loadPolicies(options.sources, root);
  return await openTreeChain(options, root, await openTreeLayout(options), policies);
};

const explainPromotion = (
  { statement, candidate, document }: PromotionStory,
  platform: Platform,
): ExplainedPromotion => {
  const { from, number, mode, person, reason, time } = statement;
  const promoted = new Set(document.sources.map(keyOf));
  const sources = platform.sources.map((snapshot) => {
    const source = toCandidateSource(snapshot);
    return { ...source, by: promoted.has(keyOf(source)) ? ('promoted' as const) : ('direct' as const) };
  });
  return { from, number, candidate, mode, person, reason, time, sources };
};

const keyOf = ({ role, path, tree }: CandidateSource): string => `${role}\0${path}\0${tree}`;
