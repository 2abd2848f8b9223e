import { join } from 'node:path';
import type { Hub } from '../../../../../scheduler/hub/hub.ts';
import { openStore, type Store } from '../../../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';

type KilledHub = {
  readonly folder: string;
  /** Name of the layout in the folder. */
  readonly layout: string;
  readonly reason: string;
  /** Number of the point at which the process is killed; '-1': it is not. */
  readonly wanted: string;
};

/**
 * The hub of a folder in a program that kills itself with SIGKILL at one point. Points are before and after the commit of each transaction, and where
 * the program calls `pass`.
 */
export const openKilledHub = async ({ folder, layout, reason, wanted }: KilledHub) => {
  let point = 0;
  const pass = (): void => {
    if (point++ === Number(wanted)) process.kill(process.pid, 'SIGKILL');
  };
  const keys = await openKeyDirectory(join(folder, 'keys'));
  const by = { person: 'ann', reason };
  const opened = await openStore(join(folder, 'hub.db'), keys.root.fleet, { by });
  const store: Store = {
    ...opened,
    transact: async (work) => {
      const result = await opened.transact(async (tx) => {
        const done = await work(tx);
        pass();
        return done;
      });
      pass();
      return result;
    },
  };
  const hub: Hub = {
    keys,
    store,
    layout: join(folder, layout),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
  return { hub, pass, passed: () => point };
};
