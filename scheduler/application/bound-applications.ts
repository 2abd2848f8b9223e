import type { FleetError } from '#bundles/errors';
import { type Bound, boundOf, checkYaml, overLimit } from '../platform/limits.ts';
import type { DeploymentTarget, Platform } from '../platform/model.ts';
import type { Application } from './application.ts';
import type { ApplicationSource, ReadApplication } from './application-source.ts';

/** What a deployment target may cost; undefined for one that stands in the platform itself. */
export const boundOfTarget = (
  { workspaces }: Platform,
  { name, workspace, registration }: DeploymentTarget,
): Bound | undefined => (registration === undefined ? undefined : boundOf(workspaces, workspace, name));

/** Judges the YAML of an application before anybody parses it. @throws FleetError WORKSPACE_LIMIT */
export const checkApplication = (bound: Bound | undefined, { files }: Application): void => {
  if (!bound) return;
  const texts = [...files].filter(([path]) => /\.ya?ml$/i.test(path)).map(([, bytes]) => bytes);
  checkYaml(bound, texts, 'its YAML');
};

/**
 * Counts what the targets of each workspace read. One that is over its limit has all its targets held, whichever was read
 * first, and no other workspace has.
 */
export const workspaceMeter = (platform: Platform) => {
  const read = new Map<string, number>();
  /** The error of a target whose workspace is over its limit by now. */
  const over = (target: DeploymentTarget): FleetError | undefined => {
    const bound = boundOfTarget(platform, target);
    const bytes = read.get(target.workspace) ?? 0;
    if (!bound || bytes <= bound.limits.workspaceBytes) return undefined;
    // The sum depends on which was read first, so that it is not told.
    const what =
      target.workspace === ''
        ? 'all deployment targets without a workspace'
        : `all deployment targets of workspace ${target.workspace}`;
    return overLimit(bound, 'workspaceBytes', undefined, what);
  };
  return {
    over,
    count: (target: DeploymentTarget, { source }: ReadApplication): void => {
      if (target.registration === undefined) return;
      read.set(target.workspace, (read.get(target.workspace) ?? 0) + bytesOf(source));
    },
  };
};

const bytesOf = (source: ApplicationSource): number => {
  switch (source.kind) {
    case 'plain':
      return sizeOf(source.application.files.values());
    case 'kustomize':
      return sizeOf(source.tree.values());
    case 'helm': {
      const chart = source.chart.from === 'repository' ? sizeOf(source.chart.files.values()) : 0;
      return chart + sizeOf(source.values.map(({ bytes }) => bytes));
    }
  }
};

const sizeOf = (files: Iterable<Uint8Array>): number => {
  let size = 0;
  for (const { length } of files) size += length;
  return size;
};
