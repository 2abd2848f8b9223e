import type { Application } from '../../load/applications/application.ts';
import type { BuiltBundle } from '../bundle/built-bundle.ts';
import type { ReadersInputs } from '../bundle/refuse-readers.ts';
import type { ManifestCache } from '../bundle/prepared-manifest.ts';
import type { Platform, RenderedPackage } from '../../model/model.ts';
import { type FileMemory, createFileMemory } from '../../load/sources/file-memory.ts';
import { createRenderMemory, type RenderMemory } from '../../render/remember-packages.ts';

/**
 * Results that a running scheduler keeps between builds, each by the inputs that it was made from, so that builds with and
 * without it give the same output. In memory only, as large as the last build.
 */
export type BuildMemory = {
  readonly environments: Map<string, EnvironmentMemory>;
  readonly files: FileMemory;
};

export type EnvironmentMemory = {
  platform: Platform | undefined;
  rendered: RenderMemory;
  applications: Map<string, Application>;
  /** Valid for one set of image locks and definitions of kinds. */
  manifests: ManifestCache;
  /** Digest of the files that define kinds. */
  definitions: string;
  bundles: Map<string, KeptBundle>;
};

/** A bundle and its inputs, compared by identity: equal inputs are the same object in all builds. */
export type KeptBundle = {
  readonly built: BuiltBundle;
  readonly packages: readonly RenderedPackage[];
  readonly applications: readonly (Application | undefined)[];
  readonly judgedFor: string | undefined;
  /** Compared by value. */
  readonly readers: ReadersInputs | undefined;
};

export const createBuildMemory = (): BuildMemory => ({ environments: new Map(), files: createFileMemory() });

/** The memory of one environment; undefined for another fleet or form. */
export const memoryOf = (memory: BuildMemory, platform: Platform): EnvironmentMemory => {
  const known = memory.environments.get(platform.environment);
  if (known?.platform?.form === platform.form && known.platform.fleet === platform.fleet) return known;
  const fresh: EnvironmentMemory = {
    platform: undefined,
    rendered: createRenderMemory(),
    applications: new Map(),
    manifests: new Map(),
    definitions: '',
    bundles: new Map(),
  };
  memory.environments.set(platform.environment, fresh);
  return fresh;
};
