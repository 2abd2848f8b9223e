import type { FleetError } from '#bundles/errors';
import { type Bound, boundOf, checkYaml, overLimit } from '../../model/limits.ts';
import type { DeploymentTarget, Platform } from '../../model/model.ts';
import type { Application } from './application.ts';
import type { ApplicationSource, ReadApplication } from './application-source.ts';

/** The limits for a deployment target; undefined for one that is part of the platform. */
export const boundOfTarget = (
  { workspaces }: Platform,
  { name, workspace, registration }: DeploymentTarget,
): Bound | undefined => (registration === undefined ? undefined : boundOf(workspaces, workspace, name));

/** Checks the YAML of an application against its limits before it is parsed. @throws FleetError WORKSPACE_LIMIT */
export const checkApplication = (bound: Bound | undefined, { files }: Application): void => {
  if (!bound) return;
  const texts = [...files].filter(([path]) => /\.ya?ml$/i.test(path)).map(([, bytes]) => bytes);
  checkYaml(bound, texts, 'its YAML');
};

/**
 * Counts the bytes that the targets of each workspace read. If a workspace exceeds its limit, all its targets are held,
 * independent of the order of reading; other workspaces are not affected.
 */
export const workspaceMeter = (platform: Platform) => {
  const read = new Map<string, number>();
  /** WORKSPACE_LIMIT once the target's workspace has exceeded its limit. */
  const over = (target: DeploymentTarget): FleetError | undefined => {
    const bound = boundOfTarget(platform, target);
    const bytes = read.get(target.workspace) ?? 0;
    if (!bound || bytes <= bound.limits.workspaceBytes) return undefined;
    // The sum depends on the order of reading, so the message leaves it out.
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
