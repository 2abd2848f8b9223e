import { availableParallelism } from 'node:os';
import type { FleetError } from '#bundles/errors';
import type { BlobStore } from '#bundles/formats/layout/blobs';
import { type Layout, openOrStartLayout, layoutBlobs } from '#bundles/formats/layout/layout';
import type { RollbackPlace } from '../../assemble/bundle/rolled-back.ts';
import { knownContents } from '../../assemble/content/known-contents.ts';
import type { EvidencePlace } from '../../assemble/images/signatures/evidence-place.ts';
import type { KeptPlaces } from '../../assemble/kept/recall-bundle.ts';
import { knownCharts } from '../../load/charts/known-charts.ts';
import { loadPlatform } from '../../load/load-platform.ts';
import { rollbacksIn } from '../../load/releases/assignment-rollbacks.ts';
import { readAuditLog } from '../../load/releases/audit-log.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { Platform } from '../../model/model.ts';
import { problemsOf, toProblem } from '../../model/problems.ts';
import type { BundleBuildOptions } from '../build-options.ts';
import type { EnvironmentInput } from '../environment-input.ts';
import { lastTools } from './last-tools.ts';

export type LoadInputs = {
  readonly sources: Sources;
  readonly images: Layout | undefined;
  readonly previous: Layout | undefined;
  readonly signatures: readonly EvidencePlace[];
  /** The environment is chained, and the candidate was promoted to it. */
  readonly isPromoted?: boolean;
  /** Gets the blobs of every image; undefined: images are not copied, as nothing is released. */
  readonly store?: BlobStore;
  /** Results of earlier runs. */
  readonly kept?: Omit<KeptPlaces, 'blobs'> | undefined;
};

/** Errors in the YAML of one environment. The other environments are still built. */
export type Problems = { readonly problems: readonly FleetError[] };

/** Loads one environment. Problems in its YAML are returned. @throws FleetError the codes of readAuditLog */
export const loadEnvironment = async (
  options: BundleBuildOptions,
  environment: string,
  { sources, images, previous, signatures, store, kept, isPromoted = false }: LoadInputs,
): Promise<EnvironmentInput | Problems> => {
  const platform = await loadOrProblems(options, environment, sources, isPromoted);
  if ('problems' in platform) return platform;
  const { roots } = options.keys;
  return {
    platform,
    sources,
    images: images?.blobs,
    pull: options.pull,
    signatures,
    pulled: layoutBlobs(options.layout),
    store,
    previous: previous && { layout: previous, roots },
    rollbacks: await readRollbacks(options, environment),
    candidate: options.candidate,
    charts: options.charts ?? knownCharts(options.cacheDirectory),
    contents: options.contents ?? knownContents(options.cacheDirectory),
    env: options.env,
    lastTools: async () =>
      lastTools(await openOrStartLayout(options.layout), roots, platform, options.signal),
    workers: options.workers ?? availableParallelism(),
    memory: options.memory,
    kept: kept && { ...kept, blobs: layoutBlobs(options.layout) },
  };
};

const readRollbacks = async (
  { layout, keys: { roots } }: BundleBuildOptions,
  environment: string,
): Promise<RollbackPlace> => {
  const opened = await openOrStartLayout(layout);
  const { entries } = await readAuditLog(opened, roots);
  return { layout: opened, roots, inForce: rollbacksIn(entries, environment) };
};

const loadOrProblems = async (
  options: BundleBuildOptions,
  environment: string,
  sources: Sources,
  isChained: boolean,
): Promise<Platform | Problems> => {
  try {
    const fleet = options.keys.root.fleet;
    return await loadPlatform({ ...options, sources, environment, fleet, isChained, holdWorkloads: true });
  } catch (error) {
    return { problems: problemsOf(toProblem(error)) };
  }
};
