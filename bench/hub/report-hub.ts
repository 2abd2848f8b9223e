import { join } from 'node:path';
import { groupCommits } from '../../scheduler/hub/store/group-commits.ts';
import { openStore } from '../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../../scheduler/keys/root/init-dev-root.ts';

/** A new hub in `folder` that takes reports, as `takeReport` needs it. Its database is a SQLite file there, or the one at the URL `database`. */
export const openReportHub = async (folder: string, fleet: string, now: Date, database?: string) => {
  await initDevRoot(join(folder, 'keys'), fleet, now);
  const keys = await openKeyDirectory(join(folder, 'keys'));
  const store = await openStore(database ?? join(folder, 'hub.db'), fleet);
  const hub = { keys, store, layout: join(folder, 'layout'), [Symbol.asyncDispose]: async () => {} };
  return {
    store,
    context: {
      hub,
      receiptKey: await keys.key('receipt'),
      clock: () => now,
      transact: groupCommits(store),
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
};
