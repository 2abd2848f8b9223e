import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { checkRepository } from '../../load/applications/check-repository.ts';
import type { DeploymentTarget, Platform } from '../../model/model.ts';
import { parseAddress } from '../../model/repository-address.ts';

/**
 * Workspaces that grant the repositories which applications of a control plane name. Kalypso bounds them by nothing; in our form an
 * application may name only those of its own repository's owner unless the platform grants more.
 * @param platforms each environment
 * @returns YAML of one Workspace for each workspace that needs one; undefined if none does
 */
export const repositoryGrants = (platforms: readonly Platform[]): string | undefined => {
  const named = new Map<string, Set<string>>();
  const needing = new Set<string>();
  for (const platform of platforms)
    for (const target of platform.targets) {
      const { repo } = target.manifests;
      if (target.registration === undefined || typeof repo !== 'string' || !parseAddress(repo)) continue;
      named.set(target.workspace, (named.get(target.workspace) ?? new Set()).add(repo));
      if (isForeign(platform, target, repo)) needing.add(target.workspace);
    }
  const own = new Set(platforms.flatMap(({ workspaces = [] }) => workspaces.map(({ name }) => name)));
  const texts = [...needing]
    .filter((name) => !own.has(name))
    .toSorted(compareBytes)
    .map((name) => workspaceText(name, [...(named.get(name) ?? [])].toSorted(compareBytes)));
  return texts.length === 0 ? undefined : texts.join('---\n');
};

const isForeign = (platform: Platform, target: DeploymentTarget, repo: string): boolean => {
  try {
    checkRepository(platform, target, repo, false);
    return false;
  } catch (error) {
    if (isFleetError(error, 'REPOSITORY_FOREIGN')) return true;
    throw error;
  }
};

const workspaceText = (name: string, repositories: readonly string[]): string =>
  [
    '# The repositories that its applications named in Kalypso, which does not bound them.',
    'apiVersion: fleet-ferry/v1alpha1',
    'kind: Workspace',
    'metadata:',
    `  name: ${name}`,
    'spec:',
    '  repositories:',
    ...repositories.map((repo) => `    - ${JSON.stringify(repo)}`),
    '',
  ].join('\n');
