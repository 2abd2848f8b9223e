import type { GivenCandidate } from '../assemble/candidate/given-candidate.ts';
import type { Contents } from '../assemble/content/content.ts';
import type { PullImage } from '../assemble/images/resolve-images.ts';
import type { BuildMemory } from '../assemble/incremental/build-memory.ts';
import type { KeyDirectory } from '../keys/key-directory.ts';
import type { Charts } from '../load/charts/charts.ts';
import type { PlatformOptions } from '../load/platform/load-options.ts';
import type { Enrolled } from '../plan/validate/sites/advise-sites.ts';
import type { Allowance } from '../settings/allowance.ts';
import type { EnvironmentOutcome } from './build-outcome.ts';

/** Sources of the build of an environment. */
export type BundleBuildOptions = PlatformOptions & {
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

export type BuildOptions = BundleBuildOptions & {
  /** Fleet name for Kalypso repositories. */
  readonly fleet?: string;
  /** Default: all. */
  readonly environments?: readonly string[];
  readonly keys: KeyDirectory;
  /** OCI layout with the images that manifests name. */
  readonly images?: string;
  /** OCI layout whose releases supply the last good package of each held assignment. */
  readonly previous?: string;
  /** Removals to allow although no object was deleted. Default: none. */
  readonly allowRemovals?: Allowance;
  /** Judges the values of sites before anything is signed, as advice; with the agents of a hub, if one is known. Default: not. */
  readonly judgeSites?: { readonly enrolled: Enrolled | undefined };
  readonly now: Date;
  /** Called once the releases of an environment are in the layout; for environments with problems, after all others. */
  readonly onEnvironment?: (outcome: EnvironmentOutcome) => void;
};
