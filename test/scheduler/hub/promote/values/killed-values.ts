/**
 * A program of its own that changes values as commands and serve do, and kills itself at one point of openKilledHub, or before or after it appends
 * to the audit log. Arguments: folder of the hub, action, number of the point (-1: none), time.
 */
import { join } from 'node:path';
import { isFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import { decideValues } from '../../../../../scheduler/hub/promote/values/change-values.ts';
import { stepValues } from '../../../../../scheduler/hub/promote/values/step-values.ts';
import { enrollMedium } from '../../../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { readRequests } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import { composeAgent } from '../../../../../scheduler/hub/sites/layers/compose-agent.ts';
import { composeSites, writeComposed } from '../../../../../scheduler/hub/sites/layers/compose-sites.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { writeSites } from '../../../../../scheduler/hub/sites/write-site.ts';
import { openKilledHub } from './killed-hub.ts';

const [folder = '', action = '', wanted = '-1', time = ''] = process.argv.slice(2);
const { hub, pass, passed } = await openKilledHub({ folder, layout: 'out', reason: 'new gateway', wanted });
await using _open = hub;
const now = new Date(time);
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
    const accept = (await readRequests(medium, hub.keys.root.fleet, [])).map(({ fingerprint }) => ({
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
process.stdout.write(`${passed()}\n`);
