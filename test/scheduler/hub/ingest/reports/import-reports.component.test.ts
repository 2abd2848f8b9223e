import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { array, assert, asyncProperty, constantFrom, shuffledSubarray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { writeTar } from '#bundles/formats/archive/write-tar';
import type { Digest } from '#bundles/digest';
import { openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import { agentFolder, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { GENESIS, hashLine } from '#bundles/formats/events/event';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import type { SignedReport } from '#bundles/trust/reports/report';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { acknowledge } from '../../../../../scheduler/hub/ingest/reports/acknowledge.ts';
import { importReports } from '../../../../../scheduler/hub/ingest/reports/import-reports.ts';
import { ingestReport } from '../../../../../scheduler/hub/ingest/reports/ingest-report.ts';
import { judgeReport } from '../../../../../scheduler/hub/ingest/reports/judge-report.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import type { AssignmentStateRow } from '../../../../../scheduler/hub/store/tables.ts';
import { readDocuments } from '../../../../../scheduler/load/releases/artifact.ts';
import { receiptsReference } from '../../../../../scheduler/load/releases/references.ts';
import {
  ask,
  chain,
  enrolled,
  enrolledHub,
  FLEET,
  HOSTS,
  happenings,
  leave,
  NOW,
  put,
  receiptOn,
  report,
  reportOf,
  type TestAgent,
  type TestHub,
  testAgent,
  testHub,
  applied,
  count,
  digest,
} from '../../test-hub.ts';
import { runs } from '../../../../harness/run/long.ts';

type Result = Awaited<ReturnType<TestHub['importFrom']>>;

const codes = ({ refused }: Result): readonly string[] => refused.map(({ error }) => error.code);

const counts = ({ agents }: Result) =>
  agents.map(({ agent, taken, known, acknowledged }) => ({ agent, taken, known, acknowledged }));

const stateOf = (hub: TestHub, assignment: string): Promise<AssignmentStateRow | undefined> =>
  hub.store.db
    .selectFrom('assignment_state')
    .selectAll()
    .where('assignment', '=', assignment)
    .executeTakeFirst();

describe('importing reports from a medium', () => {
  it('stores the events, and acknowledges them on the same medium and in the layout', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const lines = chain(agent, happenings(5));
    await report(stick, agent, lines);
    const result = await hub.importFrom(stick);
    expect(counts(result)).toEqual([{ agent: agent.id, taken: 5, known: 0, acknowledged: 5 }]);
    expect(result.answered).toEqual({ written: true });
    expect(await receiptOn(stick, hub, agent)).toMatchObject({
      agent: agent.id,
      from: 1,
      to: 5,
      head: hashLine(lines[4] as string),
    });
    // As the agent finds it: among the documents of the medium.
    await using medium = await openMedium(stick);
    const documents = await readChannelDocuments(medium.blobs, medium.medium?.documents ?? [], agent.site);
    const [receipt] = await documents.receipts(agent.id);
    expect(verifyReceipt(receipt as Buffer, hub.keys.root, agent.id).to).toBe(5);
    const layout = await openLayout(hub.layout);
    expect(layout.manifests.map(referenceOf)).toContain('sites/plant-7:receipts');
    const laidOut = await readDocuments(layout, receiptsReference('plant-7'));
    expect(laidOut.map(({ role, agent: who }) => [role, who])).toEqual([
      ['receipt', agent.id],
      ['report', agent.id],
    ]);
    // As the agent signed it, so that the exporter can tell by its key.
    const said = laidOut.find(({ role }) => role === 'report')?.digest as Digest;
    const statement = await readBlob(layout.blobs, said, 1 << 16);
    const role = { keys: [agent.key.public], threshold: 1 };
    expect(() => verifyStatement([statement], role, PREDICATES.report, 'it')).not.toThrow();
  });

  it('accepts known events again, and writes the same receipt', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    await report(stick, agent, chain(agent, happenings(3)));
    await hub.importFrom(stick);
    const first = await hub.store.db.selectFrom('receipt').selectAll().execute();
    const again = await hub.importFrom(stick, addDays(NOW, 3));
    expect(counts(again)).toEqual([{ agent: agent.id, taken: 0, known: 3, acknowledged: 3 }]);
    expect(codes(again)).toEqual([]);
    expect(await hub.store.db.selectFrom('receipt').selectAll().execute()).toEqual(first);
  });

  it('drops unreported events of a reinstalled host, and reports which never arrived', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const lines = chain(agent, happenings(4));
    await report(stick, agent, lines, 1, 2);
    await hub.importFrom(stick);
    await report(stick, agent, lines, 3, 4);
    const again = testAgent(agent.id);
    await ask(stick, again);
    await hub.enroll(stick, { replaceKey: true });
    await report(stick, again, chain(again, happenings(5)), 1, 5);
    for (const taken of [5, 0]) {
      const result = await hub.importFrom(stick);
      expect(codes(result)).toEqual([]);
      expect(counts(result)).toEqual([{ agent: agent.id, taken, known: 5 - taken, acknowledged: 5 }]);
      expect(result.former.map(({ known }) => known)).toEqual([true, false]);
      expect(result.former).toContainEqual({
        path: expect.stringContaining('000000000003-000000000004'),
        agent: agent.id,
        replacedAt: formatTime(NOW),
        known: false,
      });
    }
  });

  it('reports a gap, acknowledges nothing behind it, and closes it with the missing report', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const lines = chain(agent, happenings(12));
    const [late, early, missing] = [await hub.stick('a'), await hub.stick('b'), await hub.stick('c')];
    await report(late, agent, lines, 10, 12);
    const first = await hub.importFrom(late);
    expect(first.agents[0]).toMatchObject({ taken: 3, gaps: [{ from: 1, to: 9 }], acknowledged: 0 });
    expect(await receiptOn(late, hub, agent)).toBeUndefined();
    await report(early, agent, lines, 1, 4);
    await report(early, agent, lines, 6, 7);
    const second = await hub.importFrom(early);
    expect(second.agents[0]).toMatchObject({
      taken: 6,
      gaps: [
        { from: 5, to: 5 },
        { from: 8, to: 9 },
      ],
      acknowledged: 4,
    });
    await report(missing, agent, lines, 5, 9);
    const third = await hub.importFrom(missing);
    expect(third.agents[0]).toMatchObject({ taken: 3, known: 2, gaps: [], acknowledged: 12 });
  });

  it('never lets an older report overwrite the facts of a newer one', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const lines = chain(agent, [
      applied('oven', '1'),
      { type: 'drift', assignment: 'oven', message: 'unit stopped' },
      applied('oven', '2'),
      { type: 'check', assignment: 'oven', outcome: 'failed', code: 'CHECK_FAILED' },
    ]);
    const [late, early] = [await hub.stick('a'), await hub.stick('b')];
    await report(late, agent, lines, 3, 4);
    await hub.importFrom(late);
    const before = await stateOf(hub, 'oven');
    expect(before).toMatchObject({
      package: digest('2'),
      running_seq: 3,
      outcome: 'failed',
      code: 'CHECK_FAILED',
      outcome_seq: 4,
      drifted: 0,
    });
    await report(early, agent, lines, 1, 2);
    await hub.importFrom(early);
    expect(await stateOf(hub, 'oven')).toEqual(before);
  });

  it('stores a report that contradicts known events separately, and raises an alarm', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const lines = chain(agent, happenings(4));
    const [first, second] = [await hub.stick('a'), await hub.stick('b')];
    await report(first, agent, lines);
    await hub.importFrom(first);
    // The disk was put back to event 2 and wrote another 3 and 4, and a 5.
    const other = [
      ...lines.slice(0, 2),
      ...chain(agent, [applied('oven', '6'), { type: 'a' }, { type: 'b' }], 3, hashLine(lines[1] as string)),
    ];
    await report(second, agent, other, 2, 5);
    const result = await hub.importFrom(second);
    expect(codes(result)).toEqual(['REPORT_CHAIN']);
    expect(result.agents[0]).toMatchObject({ taken: 0, acknowledged: 4, alarms: [expect.any(String)] });
    expect(await count(hub.store.db, 'event')).toBe(4);
    expect(await stateOf(hub, 'oven')).toBeUndefined();
    const [alarm] = await hub.store.db.selectFrom('alarm').selectAll().execute();
    expect(alarm).toMatchObject({ agent: agent.id, code: 'REPORT_CHAIN' });
    expect(alarm?.events?.split('\n')).toEqual(other.slice(1));
    await hub.importFrom(second);
    expect(await count(hub.store.db, 'alarm')).toBe(1);
  });

  it('refuses a report that does not continue its neighbours, before or after', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const [stick, after, before] = [await hub.stick('a'), await hub.stick('b'), await hub.stick('c')];
    const lines = chain(agent, happenings(9));
    await report(stick, agent, lines, 4, 6);
    await hub.importFrom(stick);
    const foreign = chain(agent, [{ type: 'x' }, { type: 'y' }, { type: 'z' }], 7, digest('5'));
    await leave(
      after,
      agent,
      await reportOf(agent, foreign, 1, 3, { from: 7, to: 9, firstPrev: digest('5') }),
      7,
      9,
    );
    expect(codes(await hub.importFrom(after))).toEqual(['REPORT_CHAIN']);
    const fork = chain(agent, [{ type: 'x' }, { type: 'y' }, { type: 'z' }]);
    await report(before, agent, fork);
    expect(codes(await hub.importFrom(before))).toEqual(['REPORT_CHAIN']);
    expect(await count(hub.store.db, 'event')).toBe(3);
  });

  it('refuses a first event that names a predecessor', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const lines = chain(agent, happenings(2), 1, digest('7'));
    await leave(stick, agent, await reportOf(agent, lines, 1, 2, { firstPrev: digest('7') }), 1, 2);
    expect(codes(await hub.importFrom(stick))).toEqual(['REPORT_CHAIN']);
  });

  describe('refuses, and imports the valid report beside it,', () => {
    const bad: readonly [string, string, (hub: TestHub, stick: string, agent: TestAgent) => Promise<void>][] =
      [
        [
          'one that was edited on the stick',
          'REPORT_INVALID',
          async (_, stick, agent) => {
            const made = await reportOf(agent, chain(agent, happenings(2)));
            const events = Buffer.from(made.events.toString().replace('step 2', 'step 3'));
            await leave(stick, agent, { ...made, events }, 1, 2);
          },
        ],
        [
          'one that was cut short',
          'REPORT_INVALID',
          async (_, stick, agent) => {
            const made = await reportOf(agent, chain(agent, happenings(2)));
            await leave(stick, agent, { ...made, events: made.events.subarray(0, -9) }, 1, 2);
          },
        ],
        [
          'one whose statement was edited',
          'BAD_SIGNATURE',
          async (_, stick, agent) => {
            const made = await reportOf(agent, chain(agent, happenings(2)));
            const json = JSON.parse(made.statement.toString()) as { dsseEnvelope: { payload: string } };
            const payload = Buffer.from(json.dsseEnvelope.payload, 'base64')
              .toString()
              .replace('"to":2', '"to":3');
            json.dsseEnvelope.payload = Buffer.from(payload).toString('base64');
            await leave(stick, agent, { ...made, statement: Buffer.from(JSON.stringify(json)) }, 1, 2);
          },
        ],
        [
          'one signed by another agent of the fleet',
          'UNKNOWN_KEY',
          async (hub, stick, agent) => {
            const other = await enrolled(hub, 'plant-8/oven');
            const forged = { ...agent, key: other.key };
            await report(stick, forged, chain(agent, happenings(2)));
          },
        ],
        [
          'one of an agent of another site in this folder',
          'REPORT_INVALID',
          async (hub, stick, agent) => {
            const other = { ...(await enrolled(hub, 'plant-8/oven')), key: agent.key };
            const made = await reportOf(other, chain(other, happenings(2)));
            await leave(stick, agent, made, 1, 2);
          },
        ],
        [
          'one of another fleet',
          'WRONG_FLEET',
          async (_, stick, agent) => {
            await report(stick, agent, chain(agent, happenings(2)), 1, 2, { fleet: 'other' });
          },
        ],
        [
          'one of an agent that nobody enrolled',
          'AGENT_UNKNOWN',
          async (_, stick) => {
            const stranger = testAgent('plant-9/stranger');
            await report(stick, stranger, chain(stranger, happenings(2)));
          },
        ],
        [
          'one of a revoked agent',
          'REVOKED',
          async (hub, stick, agent) => {
            await report(stick, agent, chain(agent, happenings(2)));
            await revokeAgent(hub.store, agent.id, await siteSigner(hub), NOW);
          },
        ],
        [
          'one that was written after its key was replaced',
          'UNKNOWN_KEY',
          async (hub, stick, agent) => {
            const time = formatTime(addDays(NOW, 1));
            await report(stick, agent, chain(agent, happenings(2)), 1, 2, { time });
            const again = await hub.stick('again');
            await ask(again, testAgent(agent.id));
            await hub.enroll(again, { replaceKey: true });
          },
        ],
        [
          'events with a hole in their numbers',
          'REPORT_CHAIN',
          async (_, stick, agent) => {
            const [a, , c] = chain(agent, happenings(3)) as [string, string, string];
            await leave(stick, agent, await reportOf(agent, [a, c], 1, 2), 1, 2);
          },
        ],
        [
          'events without a statement',
          'UNSIGNED',
          async (_, stick, agent) => {
            const path = await report(stick, agent, chain(agent, happenings(2)));
            await rm(join(stick, `${path}.sigstore.json`));
          },
        ],
        [
          'a statement without events',
          'MISSING_BLOB',
          async (_, stick, agent) => {
            const path = await report(stick, agent, chain(agent, happenings(2)));
            await rm(join(stick, `${path}.ndjson`));
          },
        ],
        [
          'more than a report may hold',
          'TOO_LARGE',
          async (_, stick, agent) => {
            const made = await reportOf(agent, chain(agent, happenings(2)));
            await leave(stick, agent, { ...made, events: Buffer.alloc((4 << 20) + 1, '\n') }, 1, 2);
          },
        ],
        [
          'what is not a statement at all',
          'BAD_JSON',
          async (_, stick, agent) => {
            const made = await reportOf(agent, chain(agent, happenings(2)));
            await leave(stick, agent, { ...made, statement: Buffer.from('not json') }, 1, 2);
          },
        ],
        [
          'an event that is none',
          'SCHEMA',
          async (_, stick, agent) => {
            const line = JSON.stringify({ agent: agent.id, seq: 1, prev: GENESIS, type: 'x' });
            await leave(stick, agent, await reportOf(agent, [line]), 1, 1);
          },
        ],
      ];

    it.each(bad)('%s: %s', async (_, code, spoil) => {
      await using hub = await enrolledHub();
      const { agent } = hub;
      const good = await enrolled(hub, 'plant-7/good');
      const stick = await hub.stick();
      await report(stick, good, chain(good, happenings(3)));
      await spoil(hub, stick, agent);
      const result = await hub.importFrom(stick);
      expect(codes(result)).toEqual([code]);
      expect(counts(result)).toEqual([{ agent: good.id, taken: 3, known: 0, acknowledged: 3 }]);
      expect(await receiptOn(stick, hub, good)).toMatchObject({ to: 3 });
      expect(await receiptOn(stick, hub, agent)).toBeUndefined();
      expect(await count(hub.store.db, 'event')).toBe(3);
    });
  });

  it('O15: reads the events of one report once, whatever the number of links, spellings and false signatures -> ACCEPT', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const lines = chain(agent, happenings(5));
    await report(stick, agent, lines);
    const folder = join(stick, REPORTS_FOLDER, agentFolder(agent.id));
    const genuine = join(folder, '000000000001-000000000005');
    const text = await readFile(`${genuine}.sigstore.json`, 'utf8');
    const bundle = JSON.parse(text) as { dsseEnvelope: { signatures: { sig: string }[] } };
    const [signature] = bundle.dsseEnvelope.signatures;
    if (signature) signature.sig = Buffer.alloc(70, 1).toString('base64');
    const copies = 300;
    for (let copy = 0; copy < copies; copy++) {
      // Names before and after that of the genuine one.
      const path = join(folder, `${copy % 2 === 0 ? '0' : 'a'}${copy}`);
      const spelled = { 0: undefined, 1: `${text}${' '.repeat(copy)}`, 2: JSON.stringify(bundle) }[copy % 3];
      if (spelled === undefined) await link(`${genuine}.sigstore.json`, `${path}.sigstore.json`);
      else await writeFile(`${path}.sigstore.json`, spelled);
      if (copy % 5 === 0) await writeFile(`${path}.ndjson`, 'false events\n');
      else await link(`${genuine}.ndjson`, `${path}.ndjson`);
    }
    await using medium = await openMedium(stick);
    const read: string[] = [];
    const counting = {
      ...medium,
      readFile: (path: string, max: number) => {
        read.push(path);
        return medium.readFile(path, max);
      },
    };
    const result = await importReports(hub, counting, NOW);
    expect([codes(result), counts(result)]).toEqual([
      [],
      [{ agent: agent.id, taken: 5, known: 0, acknowledged: 5 }],
    ]);
    expect(result.answered?.written === true ? 'ACCEPT' : result.answered).toBe('ACCEPT');
    expect(read.filter((path) => path.endsWith('.ndjson'))).toHaveLength(1);
  });

  it('O16: says once for a folder of thousands of reports that nobody enrolled their agent -> AGENT_UNKNOWN', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    const stranger = testAgent('plant-9/press-1');
    for (let from = 1; from < 20; from++) await report(stick, stranger, chain(stranger, happenings(from)));
    const result = await hub.importFrom(stick);
    expect(codes(result)).toEqual(['AGENT_UNKNOWN']);
    expect(result.refused[0]?.error.message).toMatch(/with 19 reports is from an agent/);
  });

  it('ignores other files in the folder', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    await report(stick, agent, chain(agent, happenings(1)));
    await put(stick, `${REPORTS_FOLDER}/thumbs.db`, Buffer.from('x'));
    await put(stick, `${REPORTS_FOLDER}/${agentFolder(agent.id)}/read-me.txt`, Buffer.from('x'));
    expect((await hub.importFrom(stick)).refused).toEqual([]);
  });

  it('fails with MEDIUM_EMPTY when there are no reports', async () => {
    await using hub = await testHub();
    await expect(hub.importFrom(await hub.stick())).rejects.toMatchObject({ code: 'MEDIUM_EMPTY' });
  });

  it('raises an alarm when a floor falls, in any order of reports', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      await using hub = await enrolledHub();
      const { agent } = hub;
      const lines = chain(agent, happenings(4));
      const floors = { root: 1, site: 3, release: 7, lease: 0, time: formatTime(NOW) };
      const sticks = [await hub.stick('a'), await hub.stick('b')] as const;
      await report(sticks[0], agent, lines, 1, 2, { floors });
      await report(sticks[1], agent, lines, 3, 4, { floors: { ...floors, release: 6 } });
      const results = [];
      for (const index of order) results.push(await hub.importFrom(sticks[index as 0 | 1]));
      expect(results.map(({ agents }) => agents[0]?.alarms)).toEqual([
        [],
        ['its release floor fell from 7 to 6'],
      ]);
      const alarms = await hub.store.db.selectFrom('alarm').select(['agent', 'code']).execute();
      expect(alarms).toEqual([{ agent: agent.id, code: 'ROLLBACK' }]);
      // The events count all the same: an alarm is no reason to lose them.
      expect(await count(hub.store.db, 'event')).toBe(4);
    }
  });

  it('raises no alarm when a new root lowered the floors, or another channel has its own numbers', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const dev = { environment: 'dev', clusterType: 'factory-host' };
    const move = await hub.stick('move');
    await ask(move, agent);
    await hub.enroll(move, { channel: dev });
    const lines = chain(agent, [
      { type: 'imported', release: { ...HOSTS, version: 7 } },
      { type: 'imported', release: { ...dev, version: 2 } },
      { type: 'operator' },
    ]);
    const floors = { root: 1, site: 3, release: 7, lease: 0, time: formatTime(NOW) };
    const stick = await hub.stick();
    await report(stick, agent, lines, 1, 1, { floors });
    await report(stick, agent, lines, 2, 2, { floors: { ...floors, release: 2 } });
    await report(stick, agent, lines, 3, 3, { floors: { ...floors, root: 2, site: 1, release: 1 } });
    expect((await hub.importFrom(stick)).agents[0]?.alarms).toEqual([]);
  });

  it('starts a new chain for a new key, and continues a surviving chain at its end', async () => {
    await using hub = await testHub();
    const old = await enrolled(hub, 'plant-7/press-1');
    const stick = await hub.stick();
    const lines = chain(old, [applied('oven', '1'), ...happenings(2)]);
    await report(stick, old, lines);
    await hub.importFrom(stick);
    const fresh = testAgent(old.id);
    const again = await hub.stick('again');
    await ask(again, fresh);
    await hub.enroll(again, { replaceKey: true });
    expect(await stateOf(hub, 'oven')).toBeUndefined();
    // The machine with the new key would take the old one's receipt for a sign that it was put back from a copy.
    expect(await readDocuments(await openLayout(hub.layout), receiptsReference('plant-7'))).toEqual([]);
    await report(again, fresh, chain(fresh, happenings(2)));
    expect(counts(await hub.importFrom(again))).toEqual([
      { agent: old.id, taken: 2, known: 0, acknowledged: 2 },
    ]);
    expect(await count(hub.store.db, 'event')).toBe(5);

    const third = testAgent(old.id);
    const more = await hub.stick('more');
    await ask(more, third);
    await hub.enroll(more, { replaceKey: true });
    // Event 2 was the head under the key before; this machine kept its events and only changed its key.
    const before = chain(fresh, happenings(2));
    const kept = [...before, ...chain(third, happenings(3), 3, hashLine(before[1] as string))];
    await report(more, third, kept, 3, 5);
    const result = await hub.importFrom(more);
    expect(result.agents[0]).toMatchObject({ taken: 3, gaps: [], acknowledged: 5 });
    expect(await receiptOn(more, hub, third)).toMatchObject({ from: 3, to: 5 });
  });

  it('reads a tar, and writes the receipts into the layout for the next export', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const path = await report(stick, agent, chain(agent, happenings(2)));
    const files = [`${path}.ndjson`, `${path}.sigstore.json`];
    const entries = await Promise.all(
      files.map(async (file) => ({ path: file, content: await readFile(join(stick, file)) })),
    );
    const tar = join(hub.path, 'stick.tar');
    await writeFile(
      tar,
      writeTar(entries.map(({ path: file, content }) => ({ path: file, size: content.byteLength, content }))),
    );
    const result = await hub.importFrom(tar);
    expect(counts(result)).toEqual([{ agent: agent.id, taken: 2, known: 0, acknowledged: 2 }]);
    expect(result.answered).toMatchObject({ written: false, why: expect.stringContaining('tar') as string });
    expect((await openLayout(hub.layout)).manifests.map(referenceOf)).toContain('sites/plant-7:receipts');
  });
});

describe('any order and repetition of reports', () => {
  it('give the same events, the same current state and the same receipt', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const lines = chain(agent, [
      { type: 'imported', release: { ...HOSTS, version: 1 } },
      applied('oven', '1'),
      applied('door', '1'),
      { type: 'check', assignment: 'oven', outcome: 'unchanged' },
      { type: 'drift', assignment: 'door', message: 'changed by hand' },
      { type: 'imported', release: { ...HOSTS, version: 2 } },
      applied('oven', '2', { outcome: 'failed', code: 'APPLY_FAILED' }),
      { type: 'rolled-back', assignment: 'oven', package: digest('1'), outcome: 'configured' },
      applied('door', '2'),
      { type: 'package', assignment: 'lamp', outcome: 'skipped', package: digest('2') },
      applied('door', '2', { outcome: 'deleted' }),
      { type: 'operator', message: 'retry' },
    ]);
    const ranges: readonly (readonly [number, number])[] = [
      [1, 3],
      [2, 5],
      [4, 4],
      [5, 9],
      [8, 12],
      [10, 12],
      [1, 7],
    ];
    const reports: SignedReport[] = [];
    for (const [from, to] of ranges) reports.push(await reportOf(agent, lines, from, to));
    const receiptKey = await hub.keys.key('receipt');
    const importOne = async (index: number): Promise<void> => {
      const row = await hub.store.db.selectFrom('agent').selectAll().executeTakeFirstOrThrow();
      const judged = judgeReport(reports[index] as SignedReport, row, FLEET, `report ${index}`);
      const { apart } = await ingestReport(hub.store, judged, row, { source: 'stick', now: NOW });
      expect(apart).toBeUndefined();
      await acknowledge(hub.store, agent.id, { root: hub.keys.root, key: receiptKey, now: NOW });
    };
    const receiptOf = async () => {
      const { receipt } = await hub.store.db.selectFrom('receipt').selectAll().executeTakeFirstOrThrow();
      const root = hub.keys.root;
      const role = { keys: root.receipt, threshold: 1 };
      // All that is signed, the acknowledged report too; only the ECDSA signature differs from run to run.
      const { subjects } = verifyStatement([Buffer.from(receipt)], role, PREDICATES.receipt, 'the receipt');
      return { ...verifyReceipt(Buffer.from(receipt), root, agent.id), subjects };
    };
    const finalState = async () => ({
      events: await hub.store.db.selectFrom('event').select(['seq', 'hash', 'line']).orderBy('seq').execute(),
      states: (
        await hub.store.db.selectFrom('assignment_state').selectAll().orderBy('assignment').execute()
      ).map(
        // Which of two reports brought an event first is the one thing that order decides.
        ({ running_report: _, outcome_report: __, drift_report: ___, ...rest }) => rest,
      ),
      agent: await hub.store.db.selectFrom('agent').selectAll().execute(),
      receipt: await receiptOf(),
      alarms: await count(hub.store.db, 'alarm'),
    });
    const forget = async (): Promise<void> => {
      for (const table of ['event', 'report', 'history', 'assignment_state', 'receipt', 'alarm'] as const)
        await hub.store.db.deleteFrom(table).execute();
      await hub.store.db
        .updateTable('agent')
        .set({ first_seq: 0, head_seq: 0, head_hash: GENESIS, release_seq: 0, release_version: null })
        .execute();
    };
    for (const index of ranges.keys()) await importOne(index);
    const expected = await finalState();
    expect(expected.receipt.to).toBe(12);
    expect(expected.alarms).toBe(0);
    expect(expected.agent[0]).toMatchObject({ release_version: 2, head_seq: 12 });
    expect(expected.states).toMatchObject([
      { assignment: 'door', package: null, outcome: 'deleted', drifted: 0 },
      { assignment: 'lamp', package: null, outcome: 'skipped', running_seq: 0 },
      { assignment: 'oven', package: digest('1'), outcome_type: 'rolled-back' },
    ]);
    const all = [...ranges.keys()];
    await assert(
      asyncProperty(
        shuffledSubarray(all, { minLength: all.length }),
        array(constantFrom(...all), { maxLength: 4 }),
        async (order, repeated) => {
          await forget();
          for (const index of [...repeated, ...order]) await importOne(index);
          expect(await finalState()).toEqual(expected);
        },
      ),
      { numRuns: runs(15) },
    );
  });

  it('give the same as one medium with all of them', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const lines = chain(agent, happenings(1200));
    await report(stick, agent, lines, 1, 500);
    await report(stick, agent, lines, 400, 1200);
    const result = await hub.importFrom(stick);
    expect(counts(result)).toEqual([{ agent: agent.id, taken: 1200, known: 101, acknowledged: 1200 }]);
    const stored = await hub.store.db.selectFrom('event').select('line').orderBy('seq').execute();
    expect(stored.map(({ line }) => line)).toEqual(lines);
    expect(await readFile(join(stick, 'oci-layout'), 'utf8')).toContain('1.0.0');
  });
});
