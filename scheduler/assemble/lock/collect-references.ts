import { compareBytes } from '#bundles/digest';
import type { FleetError, Place } from '#bundles/errors';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import type { Application } from '../../load/applications/application.ts';
import { type Applications, loadApplications } from '../../load/applications/load-applications.ts';
import type { Tools } from '../../load/applications/tools/tool.ts';
import type { ImageReference } from '../images/image-lock.ts';
import { imagesInPackage } from './images-in-package.ts';
import type { Charts } from '../../load/charts/charts.ts';
import type { Platform, RenderedPackage } from '../../model/model.ts';
import { toMistake } from '../../model/problems.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { renderPlatform } from '../../render/render-platform.ts';
import { schedulePlatform } from '../../plan/schedule/schedule-platform.ts';
import { imageRules } from '../images/image-rules.ts';

export type References = {
  /** One entry for each repository and tag, sorted. */
  readonly references: readonly ImageReference[];
  /** Images written by digest, 'host/repo@sha256:...', sorted. */
  readonly pinned: readonly ImageReference[];
  /** Errors of files that could not be read, whose images are therefore unknown. */
  readonly problems: readonly FleetError[];
  /** Programs that rendered applications. */
  readonly tools: Applications['tools'];
};

/**
 * Collects every image that manifests and quadlets of these environments name by tag only, from applications and from templates,
 * with the platforms that it runs on.
 */
export const collectReferences = async (
  platforms: readonly Platform[],
  sources: Sources,
  { tools, charts }: { readonly tools: Tools; readonly charts: Charts },
  signal: AbortSignal,
): Promise<References> => {
  const found = new Map<string, { image: string; at: Place; platforms: Set<string> }>();
  const problems: FleetError[] = [];
  const used = new Map<string, Applications['tools'][number]>();
  for (const platform of platforms) {
    const rules = imageRules(platform.imageFields);
    const { packages, held } = renderPlatform(platform, schedulePlatform(platform));
    problems.push(...held.map(({ error }) => error));
    const applications = await loadApplications({ platform, sources, packages, tools, charts }, signal);
    for (const tool of applications.tools) used.set(tool.name, tool);
    for (const rendered of packages) {
      signal.throwIfAborted();
      const { clusterType } = rendered.assignment;
      const application = applicationOrTell(applications, rendered, problems);
      for (const { image, at } of imagesInPackage(rendered, application, rules, problems)) {
        const key = normaliseImageName(image);
        const known = found.get(key) ?? { image, at, platforms: new Set() };
        for (const one of clusterType.platforms) known.platforms.add(one);
        found.set(key, known);
      }
    }
  }
  const all = [...found]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([key, it]) => ({ ...it, key, platforms: [...it.platforms].toSorted(compareBytes) }));
  return {
    references: all.filter(({ key }) => !key.includes('@')).map(({ key: _, ...it }) => it),
    pinned: all.filter(({ key }) => key.includes('@')).map(({ key, ...it }) => ({ ...it, image: key })),
    problems,
    tools: [...used.values()],
  };
};

const applicationOrTell = (
  applications: Applications,
  rendered: RenderedPackage,
  problems: FleetError[],
): Application | undefined => {
  try {
    return applications.of(rendered);
  } catch (error) {
    problems.push(toMistake(error));
    return undefined;
  }
};
