import type { Application } from '../../load/applications/application.ts';
import type { BuiltBundle } from '../bundle/build-bundle.ts';
import type { ManifestCache } from '../bundle/prepared-manifest.ts';
import type { Platform, RenderedPackage } from '../../model/model.ts';
import { type FileMemory, newFileMemory } from '../../load/sources/file-memory.ts';
import { newRenderMemory, type RenderMemory } from '../../render/remember-packages.ts';

/**
 * What a running scheduler keeps from one build to the next: everything by the inputs it was made from, so that a build
 * with it gives what one without it gives. Nothing of it is on disk; it is as large as the last build.
 */
export type BuildMemory = {
  readonly environments: Map<string, EnvironmentMemory>;
  readonly files: FileMemory;
};

export type EnvironmentMemory = {
  platform: Platform | undefined;
  rendered: RenderMemory;
  applications: Map<string, Application>;
  /** Of one set of image locks and definitions of kinds. */
  manifests: ManifestCache;
  /** Digest of the files that define kinds. */
  definitions: string;
  bundles: Map<string, KeptBundle>;
};

/** A bundle and what it was made from, each by identity: equal inputs are the same object from build to build. */
export type KeptBundle = {
  readonly built: BuiltBundle;
  readonly packages: readonly RenderedPackage[];
  readonly applications: readonly (Application | undefined)[];
  readonly judgedFor: string | undefined;
};

export const newBuildMemory = (): BuildMemory => ({ environments: new Map(), files: newFileMemory() });

/** The memory of one environment; of another fleet or form there is none. */
export const memoryOf = (memory: BuildMemory, platform: Platform): EnvironmentMemory => {
  const known = memory.environments.get(platform.environment);
  if (known?.platform?.form === platform.form && known.platform.fleet === platform.fleet) return known;
  const fresh: EnvironmentMemory = {
    platform: undefined,
    rendered: newRenderMemory(),
    applications: new Map(),
    manifests: new Map(),
    definitions: '',
    bundles: new Map(),
  };
  memory.environments.set(platform.environment, fresh);
  return fresh;
};
