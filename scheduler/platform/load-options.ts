import type { PlatformRoot } from './fleet/find-fleet.ts';
import type { FileMemory } from './sources/file-memory.ts';
import type { SourceMap } from './sources/location.ts';
import type { Sources } from './sources/open-sources.ts';

export type PlatformOptions = {
  /** A directory or `git URL[#ref[:path]]`. */
  readonly platform: string;
  /** Directories that stand for repositories (`parseMap`). */
  readonly maps: readonly SourceMap[];
  /** Where repositories are kept between runs. */
  readonly cacheDirectory: string;
  /** What git runs with; the process's own environment when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  /** A view of the repositories that is open already: what is read then stands in the same snapshot. */
  readonly sources?: Sources;
  /** A repository that does not answer is read as it was when it last did, and told among the advice. */
  readonly staleOk?: boolean;
  /** What a server keeps of the files from run to run. */
  readonly files?: FileMemory;
};

export type LoadPlatformOptions = PlatformOptions & {
  readonly environment: string;
  /** The fleet's name where the platform does not say it (Kalypso's form). */
  readonly fleet?: string;
  /** Keep applications that cannot be read in `heldWorkloads` instead of failing. Only for who keeps their packages. */
  readonly holdWorkloads?: boolean;
};

/** What the loaders of the two forms get. */
export type LoadOptions = LoadPlatformOptions &
  Pick<PlatformRoot, 'imageLocks' | 'imageIndexes' | 'imageAttachments' | 'contentLocks'>;
