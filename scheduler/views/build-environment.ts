import type { FleetError } from '#bundles/errors';
import { knownContents } from '../assemble/content/known-contents.ts';
import type { EnvironmentBuild } from '../assemble/environment-build.ts';
import { buildLoaded } from '../build/pipeline.ts';
import { knownCharts } from '../load/charts/known-charts.ts';
import { loadPlatform } from '../load/load-platform.ts';
import type { PlatformOptions } from '../load/platform/load-options.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import { schedulePlatform } from '../plan/schedule/schedule-platform.ts';
import { renderPlatform } from '../render/render-platform.ts';
import { templateAdvice } from '../render/template-advice.ts';

export type BuiltEnvironment = EnvironmentBuild & { readonly aboutTemplates: readonly FleetError[] };

type Options = PlatformOptions & {
  readonly fleet?: string;
  /** Range of Kubernetes versions to judge rendered objects for. */
  readonly kubernetes?: string;
};

/** Makes every bundle of an environment, without writing and without looking for images. @throws FleetError the platform's problems */
export const buildEnvironment = async (
  options: Options,
  sources: Sources,
  environment: string,
): Promise<BuiltEnvironment> => {
  const platform = await loadPlatform({ ...options, sources, environment, holdWorkloads: true });
  const schedule = schedulePlatform(platform);
  const result = renderPlatform(platform, schedule);
  const { kubernetes, env } = options;
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
      charts: knownCharts(options.cacheDirectory),
      contents: knownContents(options.cacheDirectory),
    },
    options.signal ?? NEVER,
  );
  return { ...built, aboutTemplates: templateAdvice(platform, schedule, result.packages) };
};

const NEVER = new AbortController().signal;
