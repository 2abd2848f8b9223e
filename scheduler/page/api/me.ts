import { useRouteLoaderData } from 'react-router';
import { ask } from './ask.ts';
import { keepCsrf } from './session.ts';

/** GET /v1/me: who is signed in, and what they may do. The hub decides; the page only shows it. */
export type Me = {
  readonly kind: 'token' | 'oidc' | 'break-glass';
  readonly person: string | null;
  /** 'promote:prod', 'read:*', 'read:prod/production' */
  readonly may: readonly string[];
  readonly admin: boolean;
  readonly csrf: string | null;
  readonly breakGlass: readonly {
    readonly person: string;
    readonly reason: string;
    readonly until: string;
  }[];
};

/** Id of the route whose loader reads it. */
export const SHELL = 'shell';

export const readMe = async ({ request }: { readonly request: Request }): Promise<Me> => {
  const me = await ask<Me>('/v1/me', {}, request.signal);
  keepCsrf(me.csrf);
  return me;
};

export const useMe = (): Me | undefined => useRouteLoaderData<Me>(SHELL);

/** @param allowance 'promote:prod' */
export const mayDo = ({ may }: Me, allowance: string): boolean =>
  may.includes(allowance) || may.includes(`${allowance.split(':')[0]}:*`);
