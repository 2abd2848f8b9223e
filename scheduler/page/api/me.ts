import { useRouteLoaderData } from 'react-router';
import type { Me } from '#bundles/schemas/types/hub-decisions';
import { me as askMe } from '#bundles/transport/hub/client';
import { ask } from './ask.ts';
import { keepCsrf } from './session.ts';
import { keepTypedOf } from './typed.ts';

/** Id of the route whose loader reads who is signed in. The hub decides what they may do; the page only shows it. */
export const SHELL = 'shell';

export const readMe = async ({ request }: { readonly request: Request }): Promise<Me> => {
  const me = await ask(askMe, request.signal);
  keepCsrf(me.csrf);
  keepTypedOf(me);
  return me;
};

export const useMe = (): Me | undefined => useRouteLoaderData<Me>(SHELL);

/** @param allowance 'promote:prod' */
export const mayDo = ({ may }: Me, allowance: string): boolean =>
  may.includes(allowance) || may.includes(`${allowance.split(':')[0]}:*`);

/** Whether some workspace of the environment may be decided about. The hub knows which assignments these are. */
export const mayInWorkspace = ({ may }: Me, allowance: string): boolean =>
  may.some((one) => one.startsWith(`${allowance}/`) || one.startsWith(`${allowance.split(':')[0]}:*/`));
