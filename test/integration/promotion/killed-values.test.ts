import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseChannel } from '#bundles/names';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { readDocuments } from '../../../scheduler/load/releases/artifact.ts';
import { siteReference } from '../../../scheduler/load/releases/references.ts';
import { decideValues } from '../../../scheduler/hub/promote/values/change-values.ts';
import { appendChanges } from '../../../scheduler/hub/changes/append-changes.ts';
import { writeSites } from '../../../scheduler/hub/sites/write-site.ts';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { LONG } from '../../harness/run/long.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { at, layer, NOW, type StagedHub, stagedHub } from '../../scheduler/hub/promote/values/staged-hub.ts';
import { ask, testAgent } from '../../scheduler/hub/test-hub.ts';
import { LAYERS } from '../../scheduler/hub/sites/layers/layered-hub.ts';

const SITES = ['plant-1', 'plant-2', 'plant-3'];
const PROGRAM = testProgramFile('test/scheduler/hub/promote/values/killed-values.ts');
const KILLED = 128 + 9;

const run = async (folder: string, action: string, point: number) =>
  runCommand([process.execPath, PROGRAM, folder, action, String(point), at(81).toISOString()], {
    cwd: folder,
    env: { ...process.env, HOME: folder },
  });

/** What sites, the layout and the audit log have, without times. */
const stateOf = async (folder: string) => {
  const keys = await openKeyDirectory(join(folder, 'keys'));
  await using store = await openStore(join(folder, 'hub.db'), keys.root.fleet);
  const rows = await store.db.selectFrom('site').selectAll().orderBy('name').execute();
  const layout = await openLayout(join(folder, 'out'));
  const laidOut = await Promise.all(
    rows.map(async ({ name, version }) => {
      const documents = await readDocuments(layout, siteReference(name));
      return documents.some((one) => one.role === 'site' && one.version === version);
    }),
  );
  const { entries } = await readAuditLog(layout, keys.roots);
  const waiting = await store.db.selectFrom('pending_change').selectAll().execute();
  const units = await store.db
    .selectFrom('values_unit')
    .select(['site', 'state', 'stage'])
    .orderBy('site')
    .execute();
  const rollouts = await store.db.selectFrom('values_rollout').select(['kind', 'state']).execute();
  return {
    values: rows.map(({ site_values: text }) => text),
    versions: rows.map(({ version }) => version),
    laidOut,
    waiting,
    units,
    rollouts,
    entries: entries
      .flatMap(({ kind, predicate }) =>
        kind === 'change'
          ? [JSON.stringify([predicate.change, predicate.about, predicate.old, predicate.new])]
          : [],
      )
      .toSorted(),
  };
};

const prepare: Readonly<Record<string, (hub: StagedHub) => Promise<void>>> = {
  set: async () => {},
  compose: async (hub) => {
    await hub.edit(LAYERS, () => layer('new'));
    await hub.build({ now: at(10) });
  },
  // The first statement of a site has its values from layers, whatever a kill leaves.
  enrol: async ({ folder, keys }) => {
    const channel = parseChannel('prod/press');
    for (const id of ['plant-4/edge', 'plant-4/line'])
      await ask(join(folder, 'stick'), testAgent(id), { fleet: keys.root.fleet, channel });
  },
  step: async (hub) => {
    const changes = SITES.map((site) => ({ site, set: { gatewayHost: 'new' }, unset: [] }));
    await decideValues(hub, changes, { allowUnknown: false, now: at(10), review: undefined });
    await writeSites(
      hub,
      SITES.map((name) => ({ name })),
      { now: at(11) },
    );
    await hub.runs(at(20), ['plant-1/edge']);
  },
};

test.each(LONG ? Object.keys(prepare) : ['enrol', 'step'])(
  'a kill -9 at any point of "%s" leaves old or new values at each site, and the next call ends in the same state',
  async (action) => {
    const hub = await stagedHub();
    await hub.join('plant-1/edge', { ring: 'pilot' });
    await hub.join('plant-2/edge');
    await hub.join('plant-3/edge');
    await hub.compose();
    await hub.runs(
      NOW,
      SITES.map((site) => `${site}/edge`),
    );
    await prepare[action]?.(hub);
    await appendChanges(hub, { command: 'test', now: at(30) });
    await hub[Symbol.asyncDispose]();
    await using copies = await temporaryDirectory('killed-values');
    const copy = async (name: string): Promise<string> => {
      const to = join(copies.path, name);
      await cp(hub.folder, to, { recursive: true });
      return to;
    };
    const before = await stateOf(hub.folder);
    const whole = await copy('whole');
    const ended = await run(whole, action, -1);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const points = Number(ended.stdout);
    expect(points).toBeGreaterThan(4);
    const after = await stateOf(whole);
    expect(after.values).not.toEqual(before.values);
    expect(after.laidOut).not.toContain(false);
    if (action === 'enrol') expect(after.values[3]).toContain('"composed":{"edge":{');
    const chosen = LONG ? Array.from({ length: points }, (_, point) => point) : [1, points - 3];
    for (const point of chosen) {
      const folder = await copy(String(point));
      expect(await run(folder, action, point), `point ${point}`).toMatchObject({ code: KILLED });
      const killed = await stateOf(folder);
      for (const [index, text] of killed.values.entries())
        expect([before.values[index], after.values[index]]).toContain(text);
      expect(await run(folder, action, -1), `after point ${point}`).toMatchObject({ code: 0 });
      expect(await stateOf(folder), `after point ${point}`).toEqual(after);
    }
  },
);
