import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { ClusterType, DeploymentTarget, Platform, SourceSnapshot } from '../platform/model.ts';
import type { Location } from '../platform/sources/location.ts';
import { cleanPath, type Sources } from '../platform/sources/open-sources.ts';
import type { Application } from './application.ts';

/**
 * Our own agent applies the application itself, so its files go into the bundle; any other reconciler is told where to
 * fetch them (its rendered reconciler.yaml says so).
 */
export const bundlesApplication = (clusterType: ClusterType): boolean =>
  clusterType.target === 'host' || clusterType.reconciler === 'fleet';

/**
 * The files that a deployment target's `manifests` name: `path` in `repo` at `branch`, by default in the repository that
 * the workload came from. @throws FleetError SOURCE_MISSING, SOURCE_UNREACHABLE, REFERENCE_MISSING
 */
export const readApplication = async (
  sources: Sources,
  platform: Platform,
  target: DeploymentTarget,
): Promise<{ readonly application: Application; readonly snapshot: SourceSnapshot }> => {
  const base = baseOf(sources, platform, target);
  const within = typeof target.manifests['path'] === 'string' ? target.manifests['path'] : '.';
  const path = join(cleanPath(base.path), cleanPath(within));
  const source = await sources.read({
    role: `application/${target.name}`,
    location: base.location,
    path,
    which: 'all',
  });
  return {
    application: {
      shown: source.prefix,
      files: new Map(source.files.map((file) => [file.path, file.bytes])),
    },
    snapshot: source.snapshot,
  };
};

const baseOf = (
  sources: Sources,
  platform: Platform,
  target: DeploymentTarget,
): { readonly location: Location; readonly path: string } => {
  const { repo, branch, ref } = target.manifests;
  if (typeof repo === 'string') {
    const revision =
      typeof branch === 'string'
        ? ({ kind: 'branch', name: branch } as const)
        : typeof ref === 'string'
          ? ({ kind: 'any', name: ref } as const)
          : ({ kind: 'head' } as const);
    return { location: sources.locate(repo, revision), path: '.' };
  }
  const registered = platform.repositories.get(target.registration ?? '');
  if (registered) return registered;
  throw new FleetError(
    'REFERENCE_MISSING',
    `deployment target ${target.name} does not say where its files are`,
    {
      subject: target.name,
      at: target.at,
      hint: 'Give its manifests a repo and a path',
    },
  );
};
