import { availableParallelism } from 'node:os';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobStore } from '#bundles/formats/layout/blobs';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import type { FleetError } from '#bundles/errors';
import { buildEnvironment } from './build-environment.ts';
import type { EnvironmentBuild } from '../assemble/environment-build.ts';
import type { GivenCandidate } from '../assemble/candidate/given-candidate.ts';
import type { Contents } from '../assemble/content/content.ts';
import { knownContents } from '../assemble/content/known-contents.ts';
import type { PullImage } from '../assemble/images/resolve-images.ts';
import type { EvidencePlace } from '../assemble/images/signatures/evidence-place.ts';
import { layoutEvidence } from '../assemble/images/signatures/layout-evidence.ts';
import { registryEvidence } from '../assemble/images/signatures/registry-evidence.ts';
import type { BuildMemory } from '../assemble/incremental/build-memory.ts';
import type { KeyDirectory } from '../keys/key-directory.ts';
import type { Charts } from '../load/charts/charts.ts';
import { knownCharts } from '../load/charts/known-charts.ts';
import { lastTools } from './last-tools.ts';
import { loadPlatform } from '../load/load-platform.ts';
import type { PlatformOptions } from '../load/platform/load-options.ts';
import { rollbacksIn } from '../load/releases/assignment-rollbacks.ts';
import { readAuditLog } from '../load/releases/audit-log.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import type { Platform } from '../model/model.ts';
import { problemsOf, toProblem } from '../model/problems.ts';

export type MakeOptions = PlatformOptions & {
  readonly keys: Pick<KeyDirectory, 'root' | 'roots'>;
  /** OCI layout that releases are added to. */
  readonly layout: string;
  /** Pulls images that are in no layout; without it no registry is contacted. */
  readonly pull?: PullImage;
  /** Bundles assembled in parallel. Default: the number of processors. */
  readonly workers?: number;
  /** Results that a server keeps between builds. */
  readonly memory?: BuildMemory;
  /** Builds from this candidate instead of the newest sources. Unless `environments` is given, only its environment is built. */
  readonly candidate?: GivenCandidate;
  /** Fetches charts; without it only charts in the cache are used. */
  readonly charts?: Charts;
  /** Fetches files that host packages name by URL; without it only files in the cache are used. */
  readonly contents?: Contents;
  readonly signal: AbortSignal;
};

export type MakeInputs = {
  readonly sources: Sources;
  readonly images: Layout | undefined;
  readonly previous: Layout | undefined;
  readonly signatures: readonly EvidencePlace[];
  /** The environment is chained, and the candidate was promoted to it. */
  readonly isPromoted?: boolean;
  /** Gets the blobs of every image; undefined: images are not copied, as nothing is released. */
  readonly store?: BlobStore;
};

/** Builds one environment and signs and writes nothing. Problems in its YAML are returned. */
export const makeEnvironment = async (
  options: MakeOptions,
  environment: string,
  { sources, images, previous, signatures, store, isPromoted = false }: MakeInputs,
): Promise<EnvironmentBuild | { readonly problems: readonly FleetError[] }> => {
  const platform = await loadOrProblems(options, environment, sources, isPromoted);
  if ('problems' in platform) return platform;
  return buildEnvironment(
    {
      platform,
      sources,
      images: images?.blobs,
      pull: options.pull,
      signatures,
      pulled: openBlobDirectory(options.layout),
      store,
      previous: previous && { layout: previous, roots: options.keys.roots },
      rollbacks: await readRollbacks(options, environment),
      candidate: options.candidate,
      charts: options.charts ?? knownCharts(options.cacheDirectory),
      contents: options.contents ?? knownContents(options.cacheDirectory),
      env: options.env,
      lastTools: async () =>
        lastTools(await openOrStartLayout(options.layout), options.keys.roots, platform, options.signal),
      workers: options.workers ?? availableParallelism(),
      memory: options.memory,
    },
    options.signal,
  );
};

/**
 * Places to look for image signatures, in order. The output layout comes before the registry, because it holds the evidence
 * that earlier builds found.
 */
export const signaturePlaces = (
  { layout, pull }: Pick<MakeOptions, 'layout' | 'pull'>,
  given: readonly (Layout | undefined)[],
): readonly EvidencePlace[] => [
  ...given.flatMap((one) => (one ? [layoutEvidence(one.directory, async () => one)] : [])),
  layoutEvidence(layout, () => openOrStartLayout(layout)),
  ...(pull ? [registryEvidence(pull)] : []),
];

/** @throws FleetError the codes of readAuditLog */
const readRollbacks = async ({ layout, keys: { roots } }: MakeOptions, environment: string) => {
  const opened = await openOrStartLayout(layout);
  const { entries } = await readAuditLog(opened, roots);
  return { layout: opened, roots, inForce: rollbacksIn(entries, environment) };
};

/** Returns errors in the YAML of one environment instead of throwing, so that the other environments are still built. */
const loadOrProblems = async (
  options: MakeOptions,
  environment: string,
  sources: Sources,
  isChained: boolean,
): Promise<Platform | { readonly problems: readonly FleetError[] }> => {
  try {
    const fleet = options.keys.root.fleet;
    return await loadPlatform({ ...options, sources, environment, fleet, isChained, holdWorkloads: true });
  } catch (error) {
    return { problems: problemsOf(toProblem(error)) };
  }
};
