import type { FleetError } from '#bundles/errors';
import { knownContents } from '../assemble/content/known-contents.ts';
import type { EnvironmentBuild } from '../assemble/environment-build.ts';
import { buildLoaded } from '../build/pipeline.ts';
import { knownCharts } from '../load/charts/known-charts.ts';
import { loadPlatform } from '../load/load-platform.ts';
import type { PlatformOptions } from '../load/platform/load-options.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import type { Platform } from '../model/model.ts';
import { type Schedule, schedulePlatform } from '../plan/schedule/schedule-platform.ts';
import { type RenderResult, renderPlatform } from '../render/render-platform.ts';
import { templateAdvice } from '../render/template-advice.ts';

/** A platform with all its bundles, and the rendered files that they were made of. */
export type BuiltPlatform = EnvironmentBuild & { readonly schedule: Schedule; readonly result: RenderResult };

export type BuiltEnvironment = BuiltPlatform & { readonly aboutTemplates: readonly FleetError[] };

type BuildOptions = Pick<PlatformOptions, 'env' | 'cacheDirectory' | 'signal'> & {
  /** Range of Kubernetes versions to judge rendered objects for. */
  readonly kubernetes?: string;
};

/** Makes every bundle of an environment, without writing and without looking for images. @throws FleetError the platform's problems */
export const buildEnvironment = async (
  options: PlatformOptions & BuildOptions & { readonly fleet?: string },
  sources: Sources,
  environment: string,
): Promise<BuiltEnvironment> => {
  const platform = await loadPlatform({ ...options, sources, environment, holdWorkloads: true });
  const built = await buildPlatform(platform, sources, options);
  return { ...built, aboutTemplates: templateAdvice(platform, built.schedule, built.result.packages) };
};

/** As buildEnvironment, for a platform that was loaded. Uses charts and contents that were fetched for an earlier build, and fetches none. */
export const buildPlatform = async (
  platform: Platform,
  sources: Sources,
  { env, cacheDirectory, signal = NEVER, kubernetes }: BuildOptions,
): Promise<BuiltPlatform> => {
  const schedule = schedulePlatform(platform);
  const result = renderPlatform(platform, schedule);
  const built = await buildLoaded(
    {
      platform,
      rendered: { schedule, result },
      sources,
      images: 'unchecked',
      previous: undefined,
      workers: 1,
      kubernetes,
      env,
      charts: knownCharts(cacheDirectory),
      contents: knownContents(cacheDirectory),
    },
    signal,
  );
  return { ...built, schedule, result };
};

const NEVER = new AbortController().signal;
