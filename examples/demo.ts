/**
 * `npm run demo -- --sites 200`: a hub with months of history, to look at. Three environments in a chain, a promotion that waits,
 * sites that are late, behind, drifted or failed. All of it comes from builds, promotions and signed reports by the hub's own code; only
 * the clock is set back while they happen. The hub answers on this machine alone, until Ctrl-C.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPage } from '../bundling/build-page.ts';
import { approverPlaces, startDemo } from './demo/start-demo.ts';

const MAX_SITES = 2000;

const { values } = parseArgs({
  options: { sites: { type: 'string', default: '200' }, port: { type: 'string', default: '8480' } },
});
const sites = Number(values.sites);
if (!Number.isInteger(sites) || sites < 1 || sites > MAX_SITES) {
  console.error(`--sites is a number from 1 to ${MAX_SITES}, not ${values.sites}`);
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), 'fleet-ferry-demo-'));
try {
  console.log(`Filling a hub with ${sites} sites and 90 days of history ...`);
  const began = performance.now();
  const page = join(folder, 'page');
  await buildPage(page);
  const options = { sites, folder, page, port: Number(values.port), now: new Date() };
  await using demo = await startDemo(options);
  const { config, key } = approverPlaces(folder);
  console.log(`Ready after ${Math.round((performance.now() - began) / 1000)} s. Ctrl-C ends it and removes its files.

  address           ${demo.url}/
  token to look     ${demo.reader}
  token to decide   ${demo.decider}

The promotion to prod waits for the approval of a second person, which a browser cannot sign. In another terminal, in this folder:

  npx fleet-scheduler approve --to prod --config ${config} --key ${key} --person carla --reason "I read what it changes"
`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
} finally {
  await rm(folder, { recursive: true, force: true });
}
