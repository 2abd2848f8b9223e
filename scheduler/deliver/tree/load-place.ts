import { isFleetError, type FleetError } from '#bundles/errors';
import { findReference, type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import type { TrustRoot } from '#bundles/trust/root/root';
import { checkSources } from '../../assemble/candidate/check-candidate.ts';
import { type GivenCandidate, isOwn } from '../../assemble/candidate/given-candidate.ts';
import { lockedSources } from '../../assemble/candidate/locked-sources.ts';
import { toCandidateSource } from '../../assemble/candidate/create-candidate.ts';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import { loadPlatform, type Root } from '../../load/load-platform.ts';
import type { LoadPlatformOptions, PlatformOptions } from '../../load/platform/load-options.ts';
import { AUDIT_REFERENCE } from '../../load/releases/references.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { Platform } from '../../model/model.ts';
import { type Chain, cannotBuildPromoted, openChain, type Policies } from '../../release/chain/open-chain.ts';
import type { PromotionStory } from '../git/promotion-text.ts';

export type PlaceOptions = PlatformOptions & {
  readonly fleet?: string;
  /** Layout with the audit log and the candidates: without it nothing is delivered of a chained environment. */
  readonly layout?: string | undefined;
  /** Delivers exactly this candidate, with the environment's newest layer if it is another one's. */
  readonly candidate?: GivenCandidate | undefined;
  readonly signal: AbortSignal;
};

/** The platform of an environment as its tree shows it. */
export type TreePlace =
  | { readonly kind: 'loaded'; readonly platform: Platform; readonly promotion: PromotionStory | undefined }
  /** NOT_PROMOTED: nothing may be delivered. */
  | { readonly kind: 'waiting'; readonly why: FleetError }
  | { readonly kind: 'invalid'; readonly problems: readonly FleetError[] };

/** A layout with its releases, decisions and the roots of the fleet in it; no roots if it has neither releases nor decisions. */
export type TreeLayout = { readonly layout: Layout; readonly roots: readonly TrustRoot[] };

/**
 * Opens the layout. Its own roots verify its content, as in publishing.
 * @throws FleetError the codes of readFleetChain
 */
export const openTreeLayout = async ({ layout }: PlaceOptions): Promise<TreeLayout | undefined> => {
  if (layout === undefined) return undefined;
  const opened = await openOrStartLayout(layout);
  const hasSome = findReference(opened, AUDIT_REFERENCE) || channelsIn(opened).length > 0;
  return { layout: opened, roots: hasSome ? await readFleetChain(opened) : [] };
};

/** The chain of the platform, by the audit log in the layout. */
export const openTreeChain = (
  { layout, signal }: PlaceOptions,
  root: Root,
  opened: TreeLayout | undefined,
  policies: () => Promise<Policies>,
): Promise<Chain | undefined> => openChain({ root, policies, layout, roots: opened?.roots ?? [], signal });

/**
 * @throws FleetError NOT_PROMOTED for another candidate than the promoted one, or if the promoted one cannot be read any more;
 *   CANDIDATE_MISMATCH; the platform's problems
 */
export const loadPlace = async (
  options: PlaceOptions & { readonly sources: Sources },
  environment: string,
  chain: Chain | undefined,
): Promise<TreePlace> => {
  const { candidate: given } = options;
  const place = await chain?.placeOf(environment, given);
  switch (place?.kind) {
    case undefined:
    case 'newest': {
      const wanted = given ?? (place?.kind === 'newest' ? place.submitted : undefined);
      return {
        kind: 'loaded',
        platform: await (wanted ? loadLocked(options, environment, wanted) : load(options, environment)),
        promotion: undefined,
      };
    }
    case 'invalid':
    case 'waiting':
      return place;
    case 'promoted': {
      const { candidate, promoted, decision } = place;
      try {
        const { document } = candidate;
        const story = { ...decision, candidate: promoted.candidate, document };
        const sources = place.sourcesOf(options.sources);
        const platform = await loadFrom({ ...options, sources, isChained: true }, environment, candidate);
        return {
          kind: 'loaded',
          platform,
          promotion: { ...story, before: await readEarlier(options, decision.before) },
        };
      } catch (error) {
        if (given || !isFleetError(error, 'CANDIDATE_MISMATCH')) throw error;
        throw cannotBuildPromoted(environment, error);
      }
    }
  }
};

const load = (
  options: PlaceOptions & Pick<LoadPlatformOptions, 'isChained'>,
  environment: string,
): Promise<Platform> => loadPlatform({ ...options, environment, holdWorkloads: true });

/**
 * Loads the platform in the state of a candidate.
 * @throws FleetError CANDIDATE_MISMATCH; the platform's problems
 */
export const loadLocked = async (
  options: PlaceOptions & { readonly sources: Sources },
  environment: string,
  candidate: GivenCandidate,
): Promise<Platform> => {
  const sources = lockedSources(options.sources, candidate, environment);
  return await loadFrom({ ...options, sources }, environment, candidate);
};

/** @param options sources that read the state of the candidate @throws FleetError CANDIDATE_MISMATCH; the platform's problems */
const loadFrom = async (
  options: PlaceOptions & Pick<LoadPlatformOptions, 'isChained'>,
  environment: string,
  candidate: GivenCandidate,
): Promise<Platform> => {
  const platform = await load(options, environment);
  const read = platform.sources.map(toCandidateSource);
  // Not exact: a tree is made without the files of applications. The layer of another environment is not compared.
  checkSources(candidate, read, isOwn(candidate, environment) ? '' : environment, false);
  return platform;
};

/** The candidate of an earlier promotion; undefined if the layout no longer has it. */
const readEarlier = async (
  { layout, signal }: PlaceOptions,
  digest: PromotionStory['candidate'] | undefined,
) => {
  if (digest === undefined || layout === undefined) return undefined;
  try {
    const { blobs } = await openOrStartLayout(layout);
    return (await readCandidate(digest, [blobs], signal)).document;
  } catch (error) {
    if (isFleetError(error, 'MISSING_BLOB')) return undefined;
    throw error;
  }
};
