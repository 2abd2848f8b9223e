import { defined } from '#bundles/defined';
import { layoutBlobs } from '#bundles/formats/layout/layout';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { contentCache, openContents } from '../../assemble/content/contents.ts';
import { openContentPlaces } from '../../assemble/content/download.ts';
import { type KeyDirectory, openKeyDirectory } from '../../keys/key-directory.ts';
import { cachedCharts } from '../../load/charts/chart-cache.ts';
import { openChartPlaces } from '../../load/charts/chart-places.ts';
import { openCharts } from '../../load/charts/charts.ts';
import { openImageRegistries } from '../../load/images/image-places.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import type { BundleBuildOptions } from '../build-options.ts';

export type BuildPlaces = {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly signal: AbortSignal;
};

export type BuildInputs = BundleBuildOptions & {
  readonly keys: KeyDirectory;
  /** OCI layout with the images that manifests name. */
  readonly images?: string;
};

/**
 * Runs `work` with the inputs of builds that the configuration names. Registries and downloads are closed when it ends.
 * @returns rejects as `work`, and with FleetError USAGE for a missing setting, or the codes of openKeyDirectory
 */
export const withBuildInputs = async <T>(
  configuration: Configuration,
  { env, cwd, signal }: BuildPlaces,
  work: (inputs: BuildInputs) => Promise<T>,
): Promise<T> => {
  const platform = platformOptions(configuration, { cwd, env, signal });
  const access = registryOptions({ ...configuration, env });
  await using registries = openImageRegistries(access, openRegistry);
  await using charts = openChartPlaces(registries, access);
  await using files = openContentPlaces(platform.cacheDirectory, access);
  const layout = requireSetting(configuration, 'layout');
  return await work({
    ...platform,
    signal,
    charts: openCharts(cachedCharts(platform.cacheDirectory, charts.fetch)),
    contents: openContents(contentCache(platform.cacheDirectory), files.fetch, layoutBlobs(layout)),
    keys: await openKeyDirectory(requireSetting(configuration, 'keys')),
    layout,
    ...defined({
      images: configuration.images,
      pull: configuration.pullImages ? (name: string) => registries.repository(name) : undefined,
    }),
  });
};
