import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findReference, openOrStartLayout } from '#bundles/formats/layout/layout';
import { REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { readDocuments } from '../../../scheduler/load/releases/artifact.ts';
import { siteReference } from '../../../scheduler/load/releases/references.ts';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { LONG } from '../../harness/run/long.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { ask, FLEET, testAgent, testHub } from '../../scheduler/hub/test-hub.ts';

const PROGRAM = testProgramFile('test/scheduler/hub/sites/enroll/killed-enrolment.ts');
const KILLED = 128 + 9;
const AGENTS = ['plant-1/press', 'plant-1/oven', 'plant-2/press', 'plant-3/press'];

const run = async (folder: string, action: string, step: number) =>
  runCommand([process.execPath, PROGRAM, folder, action, String(step)], {
    cwd: folder,
    env: { ...process.env, HOME: folder },
  });

/** What database, layout, audit log and stick have. */
const stateOf = async (folder: string) => {
  const keys = await openKeyDirectory(join(folder, 'keys'));
  await using store = await openStore(join(folder, 'hub.db'), FLEET);
  const rows = await store.db.selectFrom('site').select(['name', 'version']).orderBy('name').execute();
  const layout = await openOrStartLayout(join(folder, 'layout'));
  const laidOut: Record<string, number | undefined> = {};
  for (const name of ['plant-1', 'plant-2', 'plant-3'].filter((one) =>
    findReference(layout, siteReference(one)),
  ))
    laidOut[name] = (await readDocuments(layout, siteReference(name))).find(
      ({ role }) => role === 'site',
    )?.version;
  const { entries } = await readAuditLog(layout, keys.roots);
  const requests = await readdir(join(folder, 'stick', REQUESTS_FOLDER)).catch(() => []);
  return {
    sites: Object.fromEntries(rows.map(({ name, version }) => [name, version])),
    laidOut,
    changes: entries
      .flatMap(({ kind, predicate }) => (kind === 'change' ? [`${predicate.change} ${predicate.about}`] : []))
      .toSorted(),
    waiting: await store.db.selectFrom('pending_change').selectAll().execute(),
    requests: requests.filter((name) => name.endsWith('.json')).length,
  };
};

/** Both actions change all sites in one batch. */
test.each(['enrol', 'renew'])(
  'a kill -9 at any step of "%s" of many sites leaves all of the old state or all of the new one in each place, and the next call ends in the same state',
  async (action) => {
    await using hub = await testHub();
    for (const id of AGENTS) await ask(await hub.stick(), testAgent(id));
    if (action === 'renew') expect(await run(hub.path, 'enrol', -1)).toMatchObject({ code: 0 });
    await using copies = await temporaryDirectory('killed-enrolment');
    const copy = async (name: string): Promise<string> => {
      const to = join(copies.path, name);
      await cp(hub.path, to, { recursive: true });
      return to;
    };
    const before = await stateOf(await copy('before'));
    const whole = await copy('whole');
    const ended = await run(whole, action, -1);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const steps = Number(ended.stdout);
    const after = await stateOf(whole);
    const version = action === 'enrol' ? 1 : 2;
    const all = { 'plant-1': version, 'plant-2': version, 'plant-3': version };
    expect(after).toMatchObject({ sites: all, laidOut: all, waiting: [], requests: 0 });
    expect(steps).toBeGreaterThan(10);
    const chosen = LONG ? Array.from({ length: steps }, (_, step) => step) : [1, 6, steps - 8];
    for (const step of chosen) {
      const folder = await copy(String(step));
      expect(await run(folder, action, step), `step ${step}`).toMatchObject({ code: KILLED });
      const killed = await stateOf(folder);
      expect([before.sites, after.sites], `step ${step}`).toContainEqual(killed.sites);
      expect([before.laidOut, after.laidOut], `step ${step}`).toContainEqual(killed.laidOut);
      // A request stays until its answer is on the stick.
      if (killed.requests < AGENTS.length && action === 'enrol') expect(killed.laidOut).toEqual(all);
      expect(await run(folder, action, -1), `after step ${step}`).toMatchObject({ code: 0, stderr: '' });
      expect(await stateOf(folder), `after step ${step}`).toEqual(after);
    }
  },
);
