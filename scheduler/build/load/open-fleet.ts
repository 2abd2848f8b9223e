import { type Layout, openLayout } from '#bundles/formats/layout/layout';
import { FleetError, isFleetError } from '#bundles/errors';
import { checkRootExpiry } from '#bundles/trust/root/root';
import { checkFleet } from '../../assemble/candidate/check-candidate.ts';
import type { GivenCandidate } from '../../assemble/candidate/given-candidate.ts';
import { lockedSources } from '../../assemble/candidate/locked-sources.ts';
import { openKeptFiles, type KeptFiles } from '../../assemble/kept/kept-files.ts';
import { openKeptObjects } from '../../assemble/kept/kept-objects.ts';
import { openKeptBundles } from '../../assemble/kept/kept-bundles.ts';
import { openKeptManifests } from '../../assemble/kept/kept-manifests.ts';
import { openKeptRenderings } from '../../assemble/kept/kept-renderings.ts';
import { programDigest } from '../../assemble/kept/program-digest.ts';
import type { KeptPlaces } from '../../assemble/kept/recall-bundle.ts';
import type { EvidencePlace } from '../../assemble/images/signatures/evidence-place.ts';
import { checkSigners } from '../../keys/key-directory.ts';
import { environmentsOf } from '../../load/list-environments.ts';
import { sourcesOf } from '../../load/load-platform.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { throwProblems } from '../../model/problems.ts';
import type { RolloutPolicy } from '../../model/promotion.ts';
import { loadPolicies, openChain, type Place, type Policies } from '../../release/chain/open-chain.ts';
import type { BuildOptions } from '../build-options.ts';
import { chooseEnvironments, newestRoot, openRoot } from './open-root.ts';
import { signaturePlaces } from './signature-places.ts';

/** One snapshot of every repository, and what all environments of a build share. */
export type OpenFleet = {
  /** The ones to build. */
  readonly environments: readonly string[];
  /** All of the platform. */
  readonly known: readonly string[];
  /** Reads the newest state. */
  readonly unlocked: Sources;
  /** Reads what the candidate names, if one is given. */
  readonly sourcesOf: (environment: string) => Sources;
  /** The environment's place in the chain; undefined in a platform without one. */
  readonly placeOf: (environment: string) => Promise<Place | undefined>;
  readonly policyOf: (environment: string) => RolloutPolicy | undefined;
  readonly images: Layout | undefined;
  readonly previous: Layout | undefined;
  readonly signatures: readonly EvidencePlace[];
  /** Results of earlier runs; undefined: the bundle key is in hardware or another process, or the program's files are being replaced. */
  readonly kept: Omit<KeptPlaces, 'blobs'> | undefined;
  /** Keeps the objects of the platform, and what was rendered, for the next run. */
  readonly keepLoaded: () => Promise<void>;
  /** Advice about a chain that could only be read in its last known state. */
  readonly remarks: readonly FleetError[];
};

/**
 * Opens the platform, its chain and policies, and the layouts that a build reads.
 * @throws FleetError USAGE if platform and keys belong to different fleets; PLATFORM_INVALID for an unknown environment; ROOT_EXPIRED,
 *   KEY_MISSING, LAYOUT_INVALID
 */
export const openFleet = async (options: BuildOptions): Promise<OpenFleet> => {
  const { keys, now, signal, candidate } = options;
  checkRootExpiry(keys.root, now);
  await checkSigners(keys, ['bundle', 'release']);
  if (candidate) checkFleet(candidate, keys.root.fleet);
  const kept = await openKept(options);
  const about = [options.platform, options.environments ?? []];
  const objects = kept && (await openKeptObjects(kept, about));
  const renderings = kept && (await openKeptRenderings(kept, about));
  const manifests = kept && openKeptManifests(kept, about);
  const unlocked = options.sources ?? sourcesOf({ ...options, parsed: objects?.parsed });
  const asked = options.environments ?? environmentOf(candidate);
  const viewOf = (environment: string): Sources =>
    candidate ? lockedSources(unlocked, candidate, environment) : unlocked;
  const root = await openRoot(options, viewOf(asked?.[0] ?? ''));
  const environments = chooseEnvironments(root, asked);
  const newest = candidate
    ? await newestRoot(options, unlocked, () => sourcesOf({ ...options, staleOk: 'gone' }))
    : { root, sources: unlocked };
  const policies = await loadPolicies(newest.sources, newest.root);
  const chain = await openChain({
    root: newest.root,
    policies: async () => policies,
    layout: options.layout,
    roots: keys.roots,
    signal,
  });
  const previous = await openPrevious(options.previous);
  const rolloutPolicies = rolloutPoliciesOf(policies);
  const images = await openGiven(options.images);
  return {
    environments,
    known: environmentsOf(root),
    unlocked,
    sourcesOf: viewOf,
    placeOf: async (environment) => chain?.placeOf(environment, candidate),
    policyOf: (environment) => rolloutPolicies.find((policy) => policy.environment === environment),
    images,
    previous,
    signatures: signaturePlaces(options, [images, previous]),
    kept: kept && renderings && manifests && { bundles: openKeptBundles(kept), renderings, manifests },
    keepLoaded: async () => {
      await objects?.save();
      await renderings?.save();
      await manifests?.save();
    },
    remarks: newest.sources === unlocked ? [] : (newest.sources.remarks?.() ?? []),
  };
};

const environmentOf = (candidate: GivenCandidate | undefined): readonly string[] | undefined =>
  candidate?.document.environment === undefined ? undefined : [candidate.document.environment];

const openKept = async ({ keys, cacheDirectory }: BuildOptions): Promise<KeptFiles | undefined> => {
  const secret = (await keys.key('bundle')).secretFor?.('kept results');
  const program = secret && programDigest();
  return secret && program && openKeptFiles(cacheDirectory, secret, program);
};

const openGiven = async (directory: string | undefined): Promise<Layout | undefined> =>
  directory === undefined ? undefined : await openLayout(directory);

/** A layout that is lost ends the build: without it, held packages would be removed and releases numbered from one. */
const openPrevious = async (directory: string | undefined): Promise<Layout | undefined> => {
  try {
    return await openGiven(directory);
  } catch (error) {
    if (!isFleetError(error, 'MEDIUM_MISSING')) throw error;
    const hint =
      'Leave out --previous in the first build of all. In a later one, restore the layout or mount its volume';
    throw new FleetError(error.code, error.message, { hint, cause: error });
  }
};

/**
 * @throws FleetError the first mistake that may be in a RolloutPolicy: without its policy a release would reach all agents at
 * once
 */
const rolloutPoliciesOf = ({ promotion, problems }: Policies): readonly RolloutPolicy[] => {
  const others = /^(PromotionPolicy|FreshnessPolicy) /;
  throwProblems(
    problems.filter(({ subject = '' }) => !others.test(subject)),
    'the platform',
  );
  return promotion.rolloutPolicies;
};
