import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { Verdict } from '../../../scheduler/hub/promote/judge/verdict.ts';
import { type Office, openOffice } from '../../e2e/office.ts';
import { type Outcome, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { carryHome, carryOut, enroll, type Site, startSite, withoutUnits } from '../agent/folder-site.ts';
import { ALL_ROLES, giveToSigner, type SignerProcess, startSignerProcess } from '../trust/signer-process.ts';

let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
let office: Office;
let signer: SignerProcess;
beforeAll(async () => {
  folder = await temporaryDirectory('promotion-evidence');
  office = await openOffice(folder.path);
  await office.edit('platform/fleet.yaml', (text) =>
    text.replace('- name: qa', '- name: qa\n      promotedFrom: dev'),
  );
  await withoutUnits(office, 'test ! -e "$FLEET_ROOT/broken"');
  await mkdir(join(folder.path, 'platform', 'promotion'));
  await writeFile(
    join(folder.path, 'platform', 'promotion', 'dev-to-qa.yaml'),
    `apiVersion: fleet-ferry/v1alpha1
kind: PromotionPolicy
metadata: { name: dev-to-qa }
spec:
  from: dev
  to: qa
  compliance: { percent: 100, of: enrolled }
  evidence: signed
`,
  );
  const places = await giveToSigner(join(folder.path, 'keys'), folder.path);
  // No signer holds the audit key: it stays beside the scheduler.
  await rename(join(places.keys, 'audit.key'), join(folder.path, 'keys', 'audit.key'));
  const chain = ['--chain', 'qa=dev', '--evidence', 'qa=100%'];
  signer = await startSignerProcess(places, [...ALL_ROLES, ...chain]);
});
afterAll(async () => {
  await signer[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const buildAll = async (): Promise<Outcome> => succeed(await office.scheduler('build', '--images', 'images'));

const promote = (...words: readonly string[]): Promise<Outcome> =>
  office.scheduler('promote', 'qa', '--person', 'ann', ...words);

/** The conditions of the hub's gate that are not met. */
const unmet = async (...words: readonly string[]): Promise<Verdict['conditions']> => {
  const { stdout } = succeed(await office.scheduler('promote', 'qa', '--explain', '--json', ...words));
  return (JSON.parse(stdout) as Verdict).conditions.filter(({ met }) => !met);
};

const hubDatabase = (): string => join(folder.path, 'hub', 'hub.db');

/** What the hub concluded from an agent's reports, and keeps of them beside the reports themselves. */
const CONCLUSIONS = ['agent_state', 'assignment_state', 'history', 'receipt'];
const OF_THE_AGENT = `release_version, release_channel, release_seq, release_at, first_seq, head_seq, head_hash,
  heard_at, online_at, said_at`;

/** A copy of the hub's database in which `liar` has reported whatever `honest` did, by SQL alone. */
const forge = async (
  name: string,
  { liar, honest }: { readonly liar: string; readonly honest: string },
  more: (db: SQLite.Database) => void = () => {},
): Promise<readonly string[]> => {
  const path = join(folder.path, 'hub', name);
  await copyFile(hubDatabase(), path);
  const db = new SQLite(path);
  const reportOf = db.prepare('select digest from report where agent = ? order by last_seq desc').pluck();
  const isSilent = reportOf.get(liar) === undefined;
  for (const table of isSilent ? [...CONCLUSIONS, 'event', 'report'] : CONCLUSIONS) {
    const columns = (db.pragma(`table_info(${table})`) as { name: string }[]).map((column) => column.name);
    const values = columns.map((column) => ({ agent: '?', number: 'number + 1000' })[column] ?? column);
    db.prepare(`delete from ${table} where agent = ?`).run(liar);
    db.prepare(
      `insert into ${table} (${columns.join()}) select ${values.join()} from ${table} where agent = ?`,
    ).run(liar, honest);
  }
  db.prepare(
    `update agent set (${OF_THE_AGENT}) = (select ${OF_THE_AGENT} from agent where id = ?) where id = ?`,
  ).run(honest, liar);
  more(db);
  db.prepare('update history set report = ? where agent = ?').run(reportOf.get(liar), liar);
  db.close();
  return ['--db', path];
};

/** Changes what an agent said went wrong into success, and makes the digests of the stored reports fit. */
const rewriteReports = (db: SQLite.Database, agent: string): void => {
  const claimed = db
    .prepare(`update event set line = replace(line, '"failed"', '"created"') where agent = ?`)
    .run(agent);
  expect(claimed.changes).toBeGreaterThan(0);
  const reports = db.prepare('select digest, first_seq, last_seq from report where agent = ?').all(agent);
  for (const { digest, first_seq, last_seq } of reports as Record<string, string>[]) {
    const lines = db
      .prepare('select line from event where agent = ? and seq between ? and ? order by seq')
      .pluck()
      .all(agent, first_seq, last_seq);
    const claim = digestOf(`${lines.join('\n')}\n`);
    db.prepare('update report set digest = ? where agent = ? and digest = ?').run(claim, agent, digest);
  }
};

const refusals = (): readonly unknown[] =>
  signer.log.filter(({ msg }) => msg === 'refused').map(({ code }) => code);

const startEnrolled = async (name: string): Promise<Site> => {
  const site = await startSite(office, name);
  await enroll(office, site, 'dev/factory-host');
  return site;
};

test("the signer signs a promotion by the reports that agents signed, and not by the hub's database", async () => {
  await buildAll();
  const [good, bad] = [await startEnrolled('plant-d'), await startEnrolled('plant-e')] as const;
  const [honest, liar] = ['plant-d/press-1', 'plant-e/press-1'];
  await carryOut(office, good);
  await carryHome(office, good);
  const closed = await promote();
  expect([closed.code, closed.stderr]).toEqual([8, expect.stringContaining('GATE_CLOSED')]);
  expect(refusals()).toEqual([]);

  // An intruder on the hub: its gate is open, but the signer has seen no report of the agent.
  const silent = await forge('silent.db', { liar, honest });
  expect(await unmet(...silent)).toEqual([]);
  const unheard = await promote(...silent);
  expect([unheard.code, unheard.stderr]).toEqual([4, expect.stringContaining('NOT_PROMOTED')]);
  expect(unheard.stderr).toContain('1 of 2 agents of dev show by their signed reports');
  expect(unheard.stderr).toContain('plant-e/press-1 showed no report');

  // The agent reports that it failed. The same lie, then one that also changes its words.
  await writeFile(join(bad.host, 'broken'), '');
  await office.fill(bad.medium, bad.name);
  expect((await bad.agent('import', bad.medium)).code).not.toBe(0);
  await carryHome(office, bad);
  const rewritten = await forge('rewritten.db', { liar, honest }, (db) => rewriteReports(db, liar));
  expect(await unmet(...rewritten)).toEqual([]);
  const changed = await promote(...rewritten);
  expect([changed.code, changed.stderr]).toEqual([4, expect.stringContaining('REPORT_INVALID')]);
  const failed = await forge('failed.db', { liar, honest });
  expect(await unmet(...failed)).toEqual([]);
  const told = await promote(...failed);
  expect([told.code, told.stderr]).toEqual([4, expect.stringContaining('NOT_PROMOTED')]);
  expect(told.stderr).toMatch(/plant-e\/press-1 (does not run|failed or could not check)/);
  expect((await unmet()).map(({ name }) => name)).toContain('compliance');
  expect(refusals()).toEqual(['NOT_PROMOTED', 'REPORT_INVALID', 'NOT_PROMOTED']);
  const audit = JSON.parse(succeed(await office.scheduler('audit', 'list', '--json')).stdout);
  expect(audit.entries.filter(({ kind }: { kind: string }) => kind !== 'change')).toEqual([]);

  // It is mended, and says so itself.
  await rm(join(bad.host, 'broken'));
  succeed(await bad.agent('retry'));
  await carryOut(office, bad);
  await carryHome(office, bad);
  expect(await unmet()).toEqual([]);
  succeed(await promote());
  await buildAll();
  expect(await readFile(join(folder.path, 'releases', 'index.json'), 'utf8')).toContain(
    'qa/factory-host:release',
  );
});
