import { FleetError } from '#bundles/errors';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { identityOf } from '../deliver/git/commit-identity.ts';
import type { Forge } from '../deliver/git/forge/forge.ts';
import type { ValuesWriter, WrittenValues } from '../hub/promote/values/decide-in-repository.ts';
import { withoutRepository } from '../load/sources/run-git.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { CheckOptions } from './check/check-edit.ts';
import { type OpenSiteValue, openSiteValues, refuseOpenValues } from './open-site-values.ts';
import type { Layer } from './place/layer.ts';
import { planSiteValues } from './plan-site-values.ts';
import { prepareEdit, type PreparedEdit } from './prepare-edit.ts';
import { saveEdit } from './save/save-edit.ts';

export type WriteOptions = CheckOptions & {
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
};

type Asked = Parameters<ValuesWriter>[0];

/** Plans values of sites as Configs of the platform, and checks it with them. @throws FleetError as planSiteValues and prepareEdit */
export const prepareSiteValues = (
  options: CheckOptions,
  { environment, values }: Pick<Asked, 'environment' | 'values'>,
): Promise<PreparedEdit> =>
  prepareEdit(options, (layers) =>
    planSiteValues(
      layers,
      values.map((one) => ({ environment, ...one })),
    ),
  );

/**
 * Writes prepared values as one commit or pull request, as `siteValues.write` says, by the person.
 * @throws FleetError VALUES_CHANGED for a value that an open pull request changes otherwise; as saveEdit
 */
export const saveSiteValues = async (
  { edit, layers }: PreparedEdit,
  { by: { person, reason }, now, environment, values }: Asked,
  options: WriteOptions,
): Promise<WrittenValues> => {
  const { configuration } = options;
  if (edit.location.kind === 'git' && edit.files.length > 0)
    refuseOpenValues(
      values.map((one) => ({ environment, ...one })),
      await readOpenValues(layers, options),
    );
  const saved = await saveEdit(edit, {
    ...options,
    forge: configuration.forge,
    connection: registryOptions({ ...configuration, env: options.env }),
    identity: identityOf(configuration),
    now,
    person: person ?? 'fleet-scheduler',
    reason: reason ?? undefined,
    pullRequest: configuration.siteValues?.write === 'pullRequest',
  });
  return { subject: edit.subject, ...saved };
};

/** The values of sites that open proposals change. @throws FleetError as openSiteValues and chooseForge */
export const readOpenValues = (
  layers: readonly Layer[],
  options: Pick<WriteOptions, 'configuration' | 'env' | 'signal' | 'cacheDirectory'>,
): Promise<readonly OpenSiteValue[]> => {
  const { env, signal, cacheDirectory } = options;
  const forgeOf = (repo: string): Promise<Forge | undefined> => openForge(repo, options);
  return openSiteValues(layers, { git: { env: withoutRepository(env), signal }, cacheDirectory, forgeOf });
};

/** The forge of a repository of the platform; undefined without a token. @throws FleetError as chooseForge */
export const openForge = async (
  repo: string,
  { configuration, env, signal }: Pick<WriteOptions, 'configuration' | 'env' | 'signal'>,
): Promise<Forge | undefined> => {
  const { chooseForge } = await import('../deliver/git/forge/choose-forge.ts');
  const connection = registryOptions({ ...configuration, env });
  return chooseForge(repo, { forge: configuration.forge, env, connection, signal });
};

/** Refuses to write into a directory on the machine of a hub, where other programs edit it. @throws FleetError USAGE */
export const requireRepository = ({ edit }: PreparedEdit, hint: string): void => {
  if (edit.location.kind !== 'directory') return;
  throw new FleetError('USAGE', 'the platform of this hub is in no repository', { hint });
};
