import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { AUDIT_REPOSITORY } from '#bundles/transport/registry/references';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { chooseForge } from '../../deliver/git/forge/choose-forge.ts';
import { configuredFor, openConfigured } from '../../deliver/git/forge/configured-forge.ts';
import { type Forge, TOKEN_VARIABLE } from '../../deliver/git/forge/forge.ts';
import { tryPush } from '../../deliver/git/try-push.ts';
import { parseTreeTarget } from '../../deliver/tree/tree-target.ts';
import { readRoot, sourcesOf } from '../../load/load-platform.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import { defaultBranch } from '../../load/sources/git-repository.ts';
import { type Git, withoutRepository } from '../../load/sources/run-git.ts';
import { parsePlatform } from '../../model/location.ts';
import { redactUrl } from '../../model/repository-url.ts';
import type { Configuration } from '../../settings/configuration.ts';
import type { Part, Tried } from './finding.ts';

export type SourceOptions = { readonly env: NodeJS.ProcessEnv; readonly cwd: string };

/** The platform's repository, that of rendered trees, their forge, and the registry. */
export const sourceParts = (configuration: Configuration, options: SourceOptions): readonly Part[] => {
  const { platform, tree, registry, commitStatuses } = configuration;
  const parts: Part[] = [];
  if (platform !== undefined)
    parts.push({
      name: 'platform',
      path: ['platform'],
      attempt: (signal) => tryPlatform(platform, configuration, { ...options, signal }),
    });
  const target = tree === undefined ? undefined : parseTreeTarget(tree);
  if (target?.kind === 'git')
    parts.push({
      name: 'tree',
      path: ['tree'],
      attempt: async (signal) => {
        await tryPush(gitOf(options, signal), target.repo);
        return `${redactUrl(target.repo)} can be written`;
      },
    });
  const repos = [target?.kind === 'git' ? target.repo : undefined, repositoryOf(platform)];
  const written = repos.find((repo) => repo !== undefined);
  if (written !== undefined)
    parts.push({
      name: 'forge',
      path: ['forge'],
      attempt: (signal) => tryForge(written, configuration, { ...options, signal }),
    });
  if (registry !== undefined)
    parts.push({
      name: 'registry',
      path: ['registry'],
      attempt: (signal) => tryRegistry(registry, configuration, { ...options, signal }),
    });
  const forges = commitStatuses?.forges ?? [];
  return [
    ...parts,
    ...forges.map(
      (forge, number): Part => ({
        name: `commit statuses at ${forge.host}`,
        path: ['commitStatuses', 'forges', number],
        attempt: async (signal) => {
          const repo = repositoryOf(platform);
          if (repo === undefined || configuredFor(repo, [forge]) === undefined) {
            await readGivenFile(forge.tokenFile, "a forge's token");
            return 'the token can be read; the platform is elsewhere, so that it was not tried';
          }
          const connection = registryOptions({ ...configuration, env: options.env });
          await using opened = await openConfigured(repo, forge, { connection, signal });
          await findTried(opened, repo, gitOf(options, signal));
          return `${forge.host} takes the token`;
        },
      }),
    ),
  ];
};

/** The branch that a forge is asked about, to try its token. The product opens no pull request from it. */
const TRIED_BRANCH = 'fleet-ferry/tried';

/** Asks a forge for a pull request, which needs its token. */
const findTried = async (forge: Pick<Forge, 'find'>, repo: string, git: Git): Promise<void> => {
  await forge.find(TRIED_BRANCH, (await defaultBranch(git, repo)) ?? 'main');
};

type Trying = SourceOptions & { readonly signal: AbortSignal };

const gitOf = ({ env }: Pick<SourceOptions, 'env'>, signal: AbortSignal): Git => ({
  env: withoutRepository(env),
  signal,
});

const repositoryOf = (platform: string | undefined): string | undefined => {
  if (platform === undefined) return undefined;
  const { location } = parsePlatform(platform);
  return location.kind === 'git' ? location.repo : undefined;
};

const tryPlatform = async (
  platform: string,
  configuration: Configuration,
  options: Trying,
): Promise<Tried> => {
  const { form, ...root } = await readRoot(platform, sourcesOf(platformOptions(configuration, options)));
  const what = form === 'fleet' ? 'a platform in our form' : "a platform in Kalypso's form";
  const { location } = root;
  const shown = location.kind === 'git' ? redactUrl(location.repo) : location.shown;
  if (location.kind !== 'git' || (configuration.siteValues?.write ?? 'hub') === 'hub')
    return `${shown} is ${what}`;
  await tryPush(gitOf(options, options.signal), location.repo);
  return `${shown} is ${what}, and can be written`;
};

const tryForge = async (
  repo: string,
  configuration: Configuration,
  { env, signal }: Trying,
): Promise<Tried> => {
  const connection = registryOptions({ ...configuration, env });
  await using forge = chooseForge(repo, { forge: configuration.forge, env, connection, signal });
  if (forge) {
    await findTried(forge, repo, gitOf({ env }, signal));
    return `the forge of ${redactUrl(repo)} takes the token`;
  }
  const message = `there is no token in ${TOKEN_VARIABLE}, so that no pull requests are opened at ${redactUrl(repo)}`;
  const isNeeded = configuration.treePullRequest || configuration.siteValues?.write === 'pullRequest';
  return { verdict: isNeeded ? 'bad' : 'good', message };
};

const tryRegistry = async (
  address: string,
  configuration: Configuration,
  { env, signal }: Trying,
): Promise<Tried> => {
  const options = { ...registryOptions({ ...configuration, env }), tries: 1 };
  await using registry = openRegistry(parseRegistryAddress(address), options);
  try {
    await registry.repository(AUDIT_REPOSITORY).resolve('latest', signal);
  } catch (error) {
    if (error instanceof FleetError && error.code === 'REGISTRY_DENIED')
      throw new FleetError(error.code, error.message, {
        cause: error,
        hint: 'Check authFile; the account needs the rights to read and write below this address',
      });
    throw error;
  }
  return `${address} answers and lets itself be read; writing shows with the first release`;
};
