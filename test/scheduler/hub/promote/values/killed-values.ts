/**
 * A program of its own that changes values as commands and serve do, and kills itself with SIGKILL at one point of its journal: before or after the
 * commit of each transaction, and after each write of the layout. Arguments: folder of the hub, action, number of the point (-1: none), time.
 */
import { join } from 'node:path';
import { isFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import type { Hub } from '../../../../../scheduler/hub/hub.ts';
import { decideValues } from '../../../../../scheduler/hub/promote/values/change-values.ts';
import { stepValues } from '../../../../../scheduler/hub/promote/values/step-values.ts';
import { enrollMedium } from '../../../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { readRequests } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import { composeAgent } from '../../../../../scheduler/hub/sites/layers/compose-agent.ts';
import { composeSites, writeComposed } from '../../../../../scheduler/hub/sites/layers/compose-sites.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { writeSites } from '../../../../../scheduler/hub/sites/write-site.ts';
import { openStore, type Store } from '../../../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';

const [folder = '', action = '', wanted = '-1', time = ''] = process.argv.slice(2);
let point = 0;
const pass = (): void => {
  if (point++ === Number(wanted)) process.kill(process.pid, 'SIGKILL');
};

const keys = await openKeyDirectory(join(folder, 'keys'));
const by = { person: 'ann', reason: 'new gateway' };
await using opened = await openStore(join(folder, 'hub.db'), keys.root.fleet, { by });
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
const now = new Date(time);
const hub: Hub = { keys, store, layout: join(folder, 'out'), [Symbol.asyncDispose]: async () => {} };
const SITES = ['plant-1', 'plant-2', 'plant-3'];

switch (action) {
  case 'set': {
    const changes = SITES.map((site) => ({ site, set: { gatewayHost: 'new' }, unset: [] }));
    // A call that was killed after its commit is repeated: then its values wait for their stage.
    await decideValues(hub, changes, { allowUnknown: false, now, review: undefined }).catch(
      (error: unknown) => {
        if (!isFleetError(error, 'VALUES_CHANGED')) throw error;
      },
    );
    await writeSites(
      hub,
      SITES.map((name) => ({ name })),
      { now },
    );
    break;
  }
  case 'compose':
    await composeSites(hub, await siteSigner(hub), { now });
    await writeComposed(hub, { now });
    break;
  case 'enrol': {
    await using medium = await openMedium(join(folder, 'stick'));
    const accept = (await readRequests(medium, keys.root.fleet, [])).map(({ fingerprint }) => ({
      fingerprint,
    }));
    const terms = { accept, replaceKey: false, update: false, composeAgent: composeAgent(hub, now) };
    if (accept.length > 0) await enrollMedium(hub, medium, terms, now);
    break;
  }
  case 'step':
    await stepValues(hub, { now });
    await writeComposed(hub, { now });
    break;
  default:
    throw new Error(`no action ${action}`);
}
pass();
await appendChanges(hub, { command: 'test', now });
pass();
process.stdout.write(`${point}\n`);
