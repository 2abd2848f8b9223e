import type { Configuration } from '../../settings/configuration.ts';
import { CALLBACK_PATH } from '../http/access/sign-in-routes.ts';
import { examineProvider } from '../people/oidc-provider.ts';
import { readPeople } from '../people/read-people.ts';
import type { Part } from './finding.ts';

/** Roles, and the provider that people sign in at. */
export const peopleParts = (configuration: Configuration, now: Date): readonly Part[] => {
  const { signIn, roles = [] } = configuration;
  const rolesPart: Part = {
    name: 'roles',
    path: ['roles'],
    attempt: async () => {
      await readPeople({ ...configuration, signIn: undefined });
      if (signIn === undefined)
        return { verdict: 'warning', message: 'nobody signs in without signIn, so the roles have no effect' };
      return roles.map(({ role }) => role).join(', ');
    },
  };
  if (signIn === undefined) return roles.length === 0 ? [] : [rolesPart];
  return [
    {
      name: 'sign-in',
      path: ['signIn'],
      attempt: async () => {
        const { oidc, origin = '' } = await readPeople({ ...configuration, roles: [] });
        const callback = `${origin}${CALLBACK_PATH}`;
        if (oidc) await examineProvider(oidc, callback, now);
        const message = `${signIn.issuer} answers for the client ${signIn.clientId}; it has to know the redirect address ${callback}`;
        if (roles.length === 0)
          return { verdict: 'warning', message: `${message}. There are no roles, so nobody is signed in` };
        return message;
      },
    },
    ...(roles.length === 0 ? [] : [rolesPart]),
  ];
};
