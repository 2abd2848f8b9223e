import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { agentFolder } from '#bundles/formats/medium/medium';
import { verifyReport } from '#bundles/trust/reports/report';
import { addDays, formatTime } from '#bundles/time';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { loadKey } from '../../../agent/hub/agent-key.ts';
import { type ExportedReport, exportReports } from '../../../agent/report/export-reports.ts';
import { appendEvent, readOutbox } from '../../../agent/store/outbox/outbox.ts';
import { heldBundles } from '../../../agent/store/bundles.ts';
import { packTestBundle, writeTestMedium } from '../../harness/fleets/signed-medium.ts';
import { agentKey, createWorld, NOW, onePackage, SITE, type World } from '../world.ts';

const NAME = `${SITE}/kiosk-1`;

const stick = async (world: World): Promise<string> => {
  const path = join(world.folder, 'stick');
  await mkdir(path, { recursive: true });
  return path;
};

const exported = async (world: World): Promise<readonly ExportedReport[]> =>
  exportReports(world.agent, await loadKey(world.agent), await stick(world));

const verified = async (world: World, { files }: ExportedReport) => {
  const [events, statement] = await Promise.all(
    files.map(async (file) => readFile(join(await stick(world), file))),
  );
  if (!events || !statement) throw new Error('no files');
  return verifyReport({ events, statement }, agentKey(world.agent), 'the report');
};

const receiptFor = async (world: World, to: number, head?: string, time = '2026-11-21T09:00:00Z') => {
  const line = readOutbox(world.agent.state).find(({ seq }) => seq === to);
  const predicate = {
    fleet: world.fleet.name,
    agent: NAME,
    from: 1,
    to,
    head: digestOf(head ?? line?.line ?? ''),
    time,
  };
  return world.medium({ receipts: [{ report: digestOf('report'), predicate }] });
};

const worldWithEvents = async (): Promise<World> => {
  const world = await createWorld();
  await world.release(1, [onePackage('app', 'one')]);
  return world;
};

describe('an exported report', () => {
  it('contains every event without a receipt, signed, with floors and the bundles that a delta may assume', async () => {
    await using world = await worldWithEvents();
    const [report, ...rest] = await exported(world);
    if (!report) throw new Error('no report');
    expect(rest).toEqual([]);
    const folder = `fleet/reports/${agentFolder(NAME)}`;
    expect(report).toMatchObject({
      from: 1,
      to: 3,
      files: [
        `${folder}/000000000001-000000000003.ndjson`,
        `${folder}/000000000001-000000000003.sigstore.json`,
      ],
    });
    const { predicate, events } = await verified(world, report);
    expect(events).toEqual(world.events().map(({ detail: _, ...event }) => event));
    expect(predicate).toMatchObject({
      agent: NAME,
      floors: { root: 1, site: 1, release: 1 },
      holds: await heldBundles(world.agent.state),
      clockTrusted: true,
    });
  });

  it('is written with the same range until more happens, and then replaced by the longer one', async () => {
    await using world = await worldWithEvents();
    const first = await exported(world);
    expect(await exported(world)).toEqual(first);
    await world.release(2, [onePackage('app', 'two')]);
    const [longer] = await exported(world);
    expect(longer).toMatchObject({ from: 1, to: 5 });
    const folder = join(await stick(world), `fleet/reports/${agentFolder(NAME)}`);
    expect((await readdir(folder)).toSorted()).toEqual([
      '000000000001-000000000005.ndjson',
      '000000000001-000000000005.sigstore.json',
    ]);
  });

  it('is split into reports of 1,000 events that form one chain', async () => {
    await using world = await worldWithEvents();
    const { db } = world.agent.state;
    db.transaction(() => {
      for (let n = 0; n < 2500; n++) appendEvent(world.agent, { type: 'drift', message: `event ${n}` });
    })();
    const reports = await exported(world);
    expect(reports.map(({ from, to }) => [from, to])).toEqual([
      [1, 1000],
      [1001, 2000],
      [2001, 2503],
    ]);
    const all = await Promise.all(reports.map((report) => verified(world, report)));
    expect(all[1]?.predicate.firstPrev).toBe(all[0]?.predicate.lastHash);
    expect(all.flatMap(({ events }) => events)).toHaveLength(2503);
  });

  it('never exceeds 4 MiB', async () => {
    await using world = await worldWithEvents();
    const { db } = world.agent.state;
    const filler = Array.from({ length: 10 }, () => 'x'.repeat(3900));
    db.transaction(() => {
      for (let n = 0; n < 130; n++) appendEvent(world.agent, { type: 'drift', detail: { filler } });
    })();
    const reports = await exported(world);
    expect(reports.length).toBeGreaterThan(1);
    for (const { bytes } of reports) expect(bytes).toBeLessThanOrEqual(4 << 20);
    for (const report of reports) await verified(world, report);
  });

  it('is refused before the agent has a root, and when the target is not a directory', async () => {
    await using world = await createWorld();
    await expect(exported(world)).rejects.toMatchObject({ code: 'NOT_ENROLLED' });
    const key = await loadKey(world.agent);
    const file = join(world.folder, 'medium.tar');
    await writeFile(file, '');
    await expect(exportReports(world.agent, key, file)).rejects.toMatchObject({ code: 'USAGE' });
    const nowhere = exportReports(world.agent, key, join(world.folder, 'nowhere'));
    await expect(nowhere).rejects.toMatchObject({ code: 'MEDIUM_MISSING' });
  });

  it('is not written into a folder of a medium, where the office would not find it', async () => {
    await using world = await worldWithEvents();
    const inside = join(await stick(world), 'fleet');
    await mkdir(inside);
    await writeFile(join(inside, 'medium.json'), '{}');
    const key = await loadKey(world.agent);
    await expect(exportReports(world.agent, key, inside)).rejects.toMatchObject({
      code: 'USAGE',
      message: `${inside} is a folder of the medium ${await stick(world)}`,
    });
    expect(await readdir(inside)).toEqual(['medium.json']);
  });

  it('P16: is written onto the stick, and not to where a link on it leads -> MEDIUM_INVALID', async () => {
    await using world = await worldWithEvents();
    const elsewhere = join(world.folder, 'elsewhere');
    await mkdir(elsewhere);
    await symlink(elsewhere, join(await stick(world), 'fleet'));
    const refused: unknown = await exported(world).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'MEDIUM_INVALID',
      message: expect.stringContaining('is a link, not a folder'),
    });
    expect(await readdir(elsewhere)).toEqual([]);
  });
});

describe('a medium prepared by an attacker', () => {
  it('M45: has no report written where a link is at its path -> MEDIUM_INVALID', async () => {
    await using world = await worldWithEvents();
    const [first] = await exported(world);
    const [outside, at] = [join(world.folder, 'outside'), join(await stick(world), first?.files[0] ?? '')];
    await writeFile(outside, 'untouched');
    await rm(at);
    await symlink(outside, at);
    const refused: unknown = await exported(world).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'MEDIUM_INVALID', message: `${at} is a link, not a file` });
    expect(await readFile(outside, 'utf8')).toBe('untouched');
  });

  it('M40: tells nothing in its report of a file that its table of contents links to -> MEDIUM_INVALID', async () => {
    await using world = await worldWithEvents();
    const secret = join(world.folder, 'root-only');
    await writeFile(secret, 'canary:$6$canary:20000:0:99999:7:::');
    const prepared = join(world.folder, 'prepared');
    await mkdir(join(prepared, 'fleet'), { recursive: true });
    await symlink(secret, join(prepared, 'fleet/medium.json'));
    const refused: unknown = await importMedium(world.agent, prepared).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'MEDIUM_INVALID' });
    // The same text on the stick itself is refused without a word of it.
    await rm(join(prepared, 'fleet/medium.json'));
    await writeFile(join(prepared, 'fleet/medium.json'), await readFile(secret));
    const damaged: unknown = await importMedium(world.agent, prepared).catch((error: unknown) => error);
    expect(damaged).toMatchObject({ code: 'BAD_JSON' });
    const events = JSON.stringify(world.events());
    expect(events.match(/MEDIUM_INVALID|BAD_JSON/g)).toEqual(['MEDIUM_INVALID', 'BAD_JSON']);
    const [report] = await exported(world);
    const signed = await readFile(join(await stick(world), report?.files[0] ?? ''), 'utf8');
    expect(signed).toContain('BAD_JSON');
    for (const text of [String(refused), String(damaged), events, signed])
      expect(text).not.toContain('canary');
  });
});

describe('a receipt', () => {
  it('removes the events that it acknowledges, and the chain continues after them', async () => {
    await using world = await worldWithEvents();
    const result = await importMedium(world.agent, await receiptFor(world, 2));
    expect(result.acknowledged).toBe(2);
    expect(world.events().map(({ seq, type }) => [seq, type])).toEqual([
      [3, 'package'],
      [4, 'receipt'],
    ]);
    const [report] = await exported(world);
    expect(report).toMatchObject({ from: 3, to: 4 });
    if (report) await verified(world, report);
  });

  it('imported again changes nothing', async () => {
    await using world = await worldWithEvents();
    const medium = await receiptFor(world, 2);
    await importMedium(world.agent, medium);
    const events = world.events();
    expect(await importMedium(world.agent, medium)).toMatchObject({ acknowledged: 0 });
    expect(world.events()).toEqual(events);
  });

  it('about other events acknowledges nothing and is recorded as RECEIPT_INVALID', async () => {
    await using world = await worldWithEvents();
    const result = await importMedium(world.agent, await receiptFor(world, 2, 'something else'));
    expect(result).toMatchObject({ acknowledged: 0, contradictingReceipts: 1 });
    expect(world.events().map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(world.events().at(-1)).toMatchObject({ type: 'receipt', code: 'RECEIPT_INVALID' });
    const beyond = await receiptFor(world, 99, 'the future');
    await importMedium(world.agent, beyond);
    expect(world.events()).toHaveLength(5);
  });

  it('from before the enrolment is ignored as that of an earlier agent with the same name', async () => {
    await using world = await worldWithEvents();
    const count = world.events().length;
    for (const to of [2, 99]) {
      const old = await receiptFor(world, to, 'the events of the old key', formatTime(addDays(NOW, -1)));
      expect(await importMedium(world.agent, old)).toMatchObject({
        acknowledged: 0,
        contradictingReceipts: 0,
      });
    }
    expect(world.events()).toHaveLength(count);
  });

  it('signed by a key without that role refuses the medium', async () => {
    await using world = await worldWithEvents();
    const forged = { ...world.fleet, keys: { ...world.fleet.keys, receipt: world.fleet.keys.release } };
    const predicate = { fleet: world.fleet.name, agent: NAME, from: 1, to: 2, head: digestOf('x') };
    const medium = await writeTestMedium(join(world.folder, 'forged'), forged, {
      release: { version: 2, bundle: packTestBundle(world.fleet, [onePackage('app', 'two')]) },
      receipts: [{ report: digestOf('r'), predicate: { ...predicate, time: '2026-11-21T09:00:00Z' } }],
    });
    await expect(importMedium(world.agent, medium)).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
    expect(world.events().map(({ type }) => type)).toEqual(['enrolled', 'imported', 'package', 'refused']);
  });
});
