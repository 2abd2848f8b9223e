/**
 * A program of its own that enrols the requests on a stick, or renews all statements, as the commands do, and kills itself with SIGKILL before one of
 * its steps: the end of a transaction, a rename, a removal of a file. Arguments: folder of the hub, action, number of the step (-1: none).
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { isFleetError } from '#bundles/errors';
import { addDays, formatTime } from '#bundles/time';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import { enrollMedium } from '../../../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { readRequests } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import { renewSites } from '../../../../../scheduler/hub/sites/renew-sites.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { writeSites } from '../../../../../scheduler/hub/sites/write-site.ts';
import { openKilledHub } from '../../promote/values/killed-hub.ts';
import { NOW } from '../../test-hub.ts';

const [folder = '', action = '', wanted = '-1'] = process.argv.slice(2);
const { hub, pass, passed } = await openKilledHub({ folder, layout: 'layout', reason: 'new plants', wanted });
await using _open = hub;

for (const name of ['rename', 'rm'] as const) {
  const original = fs.promises[name];
  Reflect.set(fs.promises, name, (...args: readonly unknown[]) => {
    pass();
    return Reflect.apply(original, fs.promises, args);
  });
}
syncBuiltinESMExports();

const enrol = async (): Promise<void> => {
  await using medium = await openMedium(join(folder, 'stick'));
  const requests = await readRequests(medium, hub.keys.root.fleet, []);
  const accept = requests.map(({ fingerprint }) => ({ fingerprint }));
  await enrollMedium(hub, medium, { accept, replaceKey: false, update: false }, NOW).catch(
    (error: unknown) => {
      // A call after the last request was answered.
      if (!isFleetError(error, 'MEDIUM_EMPTY')) throw error;
    },
  );
};

/** A statement that was renewed already expires later than `before`. */
const renew = async (): Promise<void> => {
  const later = new Date(NOW.getTime() + 60_000);
  const before = formatTime(addDays(new Date(NOW.getTime() + 30_000), 365));
  await renewSites(hub.store, await siteSigner(hub), before, later);
  const sites = await hub.store.db.selectFrom('site').select('name').execute();
  await writeSites(hub, sites, { now: later });
};

await (action === 'enrol' ? enrol() : renew());
await appendChanges(hub, { command: 'test', now: NOW });
process.stdout.write(`${passed()}\n`);
