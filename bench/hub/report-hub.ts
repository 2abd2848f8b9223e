import { join } from 'node:path';
import { storeReports } from '../../scheduler/hub/http/agents/take-report.ts';
import { openStore } from '../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../../scheduler/keys/root/init-dev-root.ts';

/** A new hub in `folder` that takes reports, as `takeReport` needs it. Its database is a SQLite file there, or the one at the URL `database`. */
export const openReportHub = async (folder: string, fleet: string, now: Date, database?: string) => {
  await initDevRoot(join(folder, 'keys'), fleet, now);
  const keys = await openKeyDirectory(join(folder, 'keys'));
  let statements = 0;
  const log = (): void => {
    statements += 1;
  };
  const store = await openStore(database ?? join(folder, 'hub.db'), fleet, { log });
  const hub = { keys, store, layout: join(folder, 'layout'), [Symbol.asyncDispose]: async () => {} };
  const clock = () => now;
  return {
    store,
    /** Statements that the database was sent. */
    statements: () => statements,
    context: { hub, clock, store: storeReports({ hub, clock, receiptKey: await keys.key('receipt') }) },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
};
