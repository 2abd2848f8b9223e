import { type LoaderFunctionArgs, redirect } from 'react-router';
import { Refusal } from './ask.ts';
import { readMe } from './me.ts';

/** Views for people who may not see the overview, by the verb of what they may do. */
const VIEWS: readonly (readonly [verb: string, address: string])[] = [
  ['values', '/values'],
  ['author', '/platform'],
];

/** The first view of a person: where the hub refuses the overview, one that their roles are for. */
export const orAllowedView =
  <T>(load: (args: LoaderFunctionArgs) => Promise<T>) =>
  async (args: LoaderFunctionArgs): Promise<T> => {
    try {
      return await load(args);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 403) throw error;
      const { may } = await readMe(args);
      const found = VIEWS.find(([verb]) => may.some((one) => one.startsWith(`${verb}:`)));
      if (found === undefined) throw error;
      throw redirect(found[1]);
    }
  };
