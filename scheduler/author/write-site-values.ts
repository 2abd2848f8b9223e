import { FleetError } from '#bundles/errors';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { identityOf } from '../deliver/git/commit-identity.ts';
import type { ValuesWriter, WrittenValues } from '../hub/promote/values/decide-in-repository.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { CheckOptions } from './check/check-edit.ts';
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

/** Writes prepared values as one commit or pull request, as `siteValues.write` says, by the person. @throws FleetError as saveEdit */
export const saveSiteValues = async (
  { edit }: PreparedEdit,
  { by: { person, reason }, now }: Pick<Asked, 'by' | 'now'>,
  { configuration, ...options }: WriteOptions,
): Promise<WrittenValues> => ({
  subject: edit.subject,
  ...(await saveEdit(edit, {
    ...options,
    forge: configuration.forge,
    connection: registryOptions({ ...configuration, env: options.env }),
    identity: identityOf(configuration),
    now,
    person: person ?? 'fleet-scheduler',
    reason: reason ?? undefined,
    pullRequest: configuration.siteValues?.write === 'pullRequest',
  })),
});

/** Refuses to write into a directory on the machine of a hub, where other programs edit it. @throws FleetError USAGE */
export const requireRepository = ({ edit }: PreparedEdit, hint: string): void => {
  if (edit.location.kind !== 'directory') return;
  throw new FleetError('USAGE', 'the platform of this hub is in no repository', { hint });
};
