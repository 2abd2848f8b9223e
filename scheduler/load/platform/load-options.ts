import type { PlatformRoot } from './find-fleet.ts';
import type { FileMemory } from '../sources/file-memory.ts';
import type { ParsedFiles } from '../sources/parsed-files.ts';
import type { SourceMap } from '../../model/location.ts';
import type { Sources } from '../sources/open-sources.ts';

export type PlatformOptions = {
  /** A directory or `git URL[#ref[:path]]`. */
  readonly platform: string;
  /** Directories that replace repositories (`parseMap`). */
  readonly maps: readonly SourceMap[];
  /** Cache of repositories between runs. */
  readonly cacheDirectory: string;
  /** Environment for git; by default that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  /** An existing view of the repositories, to read from the same snapshot. */
  readonly sources?: Sources;
  /** Read a repository that does not respond in its last known state, and add a warning to `advice`. */
  readonly staleOk?: boolean | 'gone';
  /** A server's cache of files between runs. */
  readonly files?: FileMemory;
  /** Objects of files that were parsed before. */
  readonly parsed?: ParsedFiles | undefined;
};

export type LoadPlatformOptions = PlatformOptions & {
  readonly environment: string;
  /** The fleet's name, if the platform does not define it (Kalypso's form). */
  readonly fleet?: string;
  /** The environment is chained, and everything shared comes from a promoted candidate. */
  readonly isChained?: boolean;
  /**
   * Collect applications that cannot be read in `heldWorkloads` instead of failing. Only for callers that keep their
   * packages.
   */
  readonly holdWorkloads?: boolean;
};

/** Options of the loaders of both forms. */
export type LoadOptions = LoadPlatformOptions &
  Pick<PlatformRoot, 'imageLocks' | 'imageIndexes' | 'imageAttachments' | 'contentLocks' | 'renderers'>;
