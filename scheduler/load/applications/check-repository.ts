import { FleetError } from '#bundles/errors';
import type { DeploymentTarget, Platform } from '../../model/model.ts';
import {
  coversAddress,
  isSameRepository,
  ownerOf,
  parseAddress,
  type RepositoryAddress,
} from '../../model/repository-address.ts';
import { isRepositoryUrl, redactUrl } from '../../model/repository-url.ts';

/**
 * Checks whether an application's `manifests` may name this repository. The scheduler reads it with its own credentials, so a
 * tenant may name its registered repository and the `repositories` of its Workspace; without that list, repositories of the
 * same owner on the same host. A repository that another workspace registered is refused, unless the Workspace lists exactly
 * that one. Targets that are part of the platform repository are trusted.
 * @param mapped the operator mapped a directory to it (`--map`)
 * @throws FleetError FIELD_INVALID, REPOSITORY_FOREIGN
 */
export const checkRepository = (
  platform: Pick<Platform, 'repositories' | 'workspaces'>,
  target: DeploymentTarget,
  repo: string,
  mapped: boolean,
): void => {
  const { registration, workspace } = target;
  if (registration === undefined) return;
  const own = platform.repositories.get(registration);
  const address = parseAddress(repo);
  if (!address) {
    if (mapped || (repo === own?.repo && isRepositoryUrl(repo))) return;
    throw unreadable(target, repo);
  }
  const ownAddress = own?.repo === undefined ? undefined : parseAddress(own.repo);
  if (ownAddress && isSameAddress(ownAddress, address)) return;
  const listed = platform.workspaces?.find(({ name }) => name === workspace)?.repositories;
  const prefixes = listed ?? [ownAddress && ownerOf(ownAddress)].filter((one) => one !== undefined);
  const covering = prefixes.filter((prefix) => coversAddress(prefix, address));
  if (covering.some((prefix) => isSameAddress(prefix, address))) return;
  const others = [...platform.repositories.values()].filter((one) => one.workspace !== workspace);
  const other = others.some(({ repo: theirs }) => {
    const registered = theirs === undefined ? undefined : parseAddress(theirs);
    return registered !== undefined && isSameRepository(registered, address);
  });
  if (!other && (mapped || covering.length > 0)) return;
  throw foreignRepositoryError(target, repo, other);
};

const isSameAddress = (one: RepositoryAddress, other: RepositoryAddress): boolean =>
  coversAddress(one, other) && one.path.length === other.path.length;

const unreadable = ({ name, at }: DeploymentTarget, repo: string): FleetError =>
  new FleetError(
    'FIELD_INVALID',
    `manifests: the repo ${JSON.stringify(redactUrl(repo))} is not an address that an application may name`,
    {
      subject: name,
      at,
      hint: 'Write https://host/owner/name or git@host:owner/name, without a password, a local path or file:; or leave repo out for the repository of the application',
    },
  );

const foreignRepositoryError = (
  { name, workspace, at }: DeploymentTarget,
  repo: string,
  registered: boolean,
): FleetError => {
  const whose = registered ? ', which another workspace has registered' : '';
  const which = workspace === '' ? 'an application without a workspace' : `workspace ${workspace}`;
  return new FleetError(
    'REPOSITORY_FOREIGN',
    `manifests: the repository ${redactUrl(repo)}${whose} is not one that ${which} may name`,
    {
      subject: name,
      at,
      hint: `Use the repository of the application or one of its owner, or have it allowed: spec.repositories of the Workspace ${workspace} in the platform`,
    },
  );
};
