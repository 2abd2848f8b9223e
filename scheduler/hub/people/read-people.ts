import { rootCertificates } from 'node:tls';
import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import { type Configuration, placeOfSetting } from '../../settings/configuration.ts';
import type { OidcProvider } from './oidc-provider.ts';
import { NO_PEOPLE, type People } from './people.ts';
import { WORKSPACE_ROLES } from './role.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const PROVIDER_MS = 10_000;

/**
 * How people sign in, from `signIn` and `roles` of the configuration, with the files that they name.
 * @throws FleetError CONFIG_INVALID for a file that is missing, or a role that says too much
 */
export const readPeople = async (configuration: Configuration): Promise<People> => {
  const { signIn, roles = [], file } = configuration;
  for (const [
    number,
    { role, environments, workspaces, sites, editableBy, groups, people },
  ] of roles.entries()) {
    const place = () => (file === undefined ? undefined : placeOfSetting(file, ['roles', number]));
    if (workspaces !== undefined && role !== 'editor' && !WORKSPACE_ROLES.includes(role))
      throw new FleetError(
        'CONFIG_INVALID',
        `roles: ${role} decides about whole environments, so it has no workspaces`,
        {
          at: place(),
          hint: `Give workspaces to ${WORKSPACE_ROLES.join(', ')} only`,
        },
      );
    if (role !== 'editor' && (sites ?? editableBy) !== undefined)
      throw new FleetError(
        'CONFIG_INVALID',
        `roles: ${role} is about environments, so it has no sites or editableBy`,
        {
          at: place(),
          hint: 'Give these to the role editor only',
        },
      );
    if (role === 'editor' && (environments ?? workspaces) !== undefined)
      throw new FleetError(
        'CONFIG_INVALID',
        'roles: editor is about sites, so it has no environments or workspaces',
        {
          at: place(),
          hint: 'Write sites: {site: plant-7}, or leave it out for all sites',
        },
      );
    if (groups === undefined && people === undefined)
      throw new FleetError('CONFIG_INVALID', `roles: no person has the role ${role}`, {
        at: place(),
        hint: 'Name groups or people',
      });
  }
  return {
    ...lifetimesOf(configuration),
    roles,
    origin: signIn === undefined ? undefined : new URL(signIn.publicUrl).origin,
    oidc: signIn === undefined ? undefined : await readProvider(signIn),
  };
};

export const lifetimesOf = ({
  signIn,
}: Configuration): Pick<People, 'sessionMs' | 'decidingMs' | 'idleMs'> => ({
  sessionMs: signIn?.sessionHours === undefined ? NO_PEOPLE.sessionMs : signIn.sessionHours * HOUR_MS,
  decidingMs: signIn?.decidingHours === undefined ? NO_PEOPLE.decidingMs : signIn.decidingHours * HOUR_MS,
  idleMs: signIn?.idleMinutes === undefined ? NO_PEOPLE.idleMs : signIn.idleMinutes * MINUTE_MS,
});

const readProvider = async ({
  issuer,
  clientId,
  clientSecretFile,
  scope = 'openid email profile',
  personClaim = 'email',
  groupsClaim = 'groups',
  caFile,
}: NonNullable<Configuration['signIn']>): Promise<OidcProvider> => ({
  issuer,
  clientId,
  clientSecret: clientSecretFile === undefined ? undefined : await firstLine(clientSecretFile),
  scope,
  personClaim,
  groupsClaim,
  ca: caFile === undefined ? undefined : [...rootCertificates, await readGivenFile(caFile)],
  timeoutMs: PROVIDER_MS,
});

const firstLine = async (file: string): Promise<string> => {
  const [secret = ''] = (await readGivenFile(file)).split(/\r?\n/, 1);
  if (secret !== '') return secret;
  throw new FleetError('CONFIG_INVALID', 'the first line of the file is empty', { at: { file, line: 1 } });
};
