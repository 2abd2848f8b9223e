import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import type { Row } from '../../../scheduler/hub/questions/state/what-runs-where.ts';
import { type Office, openOffice } from '../../e2e/office.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { carryHome, carryOut, enroll, type Site, startSite, withoutUnits } from './folder-site.ts';

const SITE = 'plant-7';

let folder: TemporaryDirectory;
let office: Office;
let site: Site;

beforeAll(async () => {
  folder = await temporaryDirectory('evidence');
  office = await openOffice(folder.path);
  await withoutUnits(office, 'test ! -e "$FLEET_ROOT/etc/dead"');
  await office.build();
  site = await startSite(office, SITE);
  await enroll(office, site, 'prod/factory-host');
  await carryOut(office, site);
  await carryHome(office, site);
});
afterAll(() => folder[Symbol.asyncDispose]());

const rows = async (): Promise<readonly Row[]> => {
  const { rows: found } = (await office.status()) as { readonly rows: readonly Row[] };
  return found.filter((row) => row.site === SITE);
};

const verdicts = async (): Promise<ReadonlySet<string>> =>
  new Set((await rows()).map(({ verdict }) => verdict));

const LABEL = 'etc/label-printer/label.zpl';

test('a file that was deleted between looks is drift at the hub after the next report', async () => {
  expect(await verdicts()).toEqual(new Set(['complies']));
  await rm(join(site.host, LABEL));
  await carryHome(office, site);
  expect(await verdicts()).toContain('drifted');
  // A report does not change the machine.
  expect(existsSync(join(site.host, LABEL))).toBe(false);
  succeed(await site.agent('run', '--once'));
  await carryHome(office, site);
  expect(await verdicts()).toEqual(new Set(['complies']));
});

test('a check that fails after it passed is a failure at the hub after the next report', async () => {
  await writeFile(join(site.host, 'etc/dead'), '');
  await carryHome(office, site);
  expect(await verdicts()).toEqual(new Set(['failed']));
  await rm(join(site.host, 'etc/dead'));
  await site.agent('run', '--once');
  await carryHome(office, site);
  expect(await verdicts()).toEqual(new Set(['complies']));
});

test('a report of a machine without events has the time of the last look', async () => {
  // The receipts come back, so every event is acknowledged.
  await carryOut(office, site);
  const [before] = await rows();
  await new Promise((resolve) => {
    setTimeout(resolve, 2100);
  });
  const { stdout } = succeed(await site.agent('reports', 'export', site.medium, '--json'));
  expect(JSON.parse(stdout)).toMatchObject({
    looked: true,
    reports: [{ files: expect.any(Array) as unknown }],
  });
  succeed(await office.scheduler('reports', 'import', site.medium));
  const [after] = await rows();
  expect(after?.saidAt?.localeCompare(before?.saidAt ?? '')).toBe(1);
  expect(after?.verdict).toBe('complies');
});

test('a stopped service is in the report, the status of the office and its alarms', async () => {
  const config = join(folder.path, 'sites', SITE, 'agent.yaml');
  const daemon = spawn(process.execPath, [programFile('agent'), 'run', '--config', config], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for await (const chunk of daemon.stdout) if (String(chunk).includes('"looked"')) break;
  const running = succeed(await site.agent('reports', 'export', site.medium));
  expect(running.stderr).not.toContain('service');
  succeed(await office.scheduler('reports', 'import', site.medium));
  expect((await rows()).every(({ stopped }) => stopped)).toBe(false);
  daemon.kill('SIGKILL');
  await once(daemon, 'exit');
  const exported = succeed(await site.agent('reports', 'export', site.medium));
  expect(exported.stderr).toContain('The service does not run');
  succeed(await office.scheduler('reports', 'import', site.medium));
  expect((await rows()).every(({ stopped }) => stopped)).toBe(true);
  const text = succeed(await office.scheduler('status')).stdout;
  expect(text).toContain(`${SITE}/press-1: its service is not running`);
  expect(text).toContain('service stopped');
});

test('a last look of long ago is said by status at the site, and makes the package stale at the office', async () => {
  succeed(await site.agent('run', '--once'));
  await carryHome(office, site);
  const later = formatTime(addDays(new Date(), 40));
  // The machine was started again since: within one boot, its clock since the boot says the age.
  const record = join(folder.path, 'sites', SITE, 'state', 'look.json');
  const look = await readFile(record, 'utf8');
  await writeFile(record, look.replaceAll(/(?<="bootId":")[^"]*/g, randomUUID()));
  const at = await site.agent('status', '--now', later);
  expect(at.code).toBe(8);
  expect(at.stdout).toMatch(
    /^label-printer-\S+ +unknown +40 days ago .*HEALTH_UNKNOWN: it was last compared at /m,
  );
  await mkdir(join(folder.path, 'platform', 'promotion'), { recursive: true });
  await writeFile(
    join(folder.path, 'platform', 'promotion', 'monthly.yaml'),
    `apiVersion: fleet-ferry/v1alpha1
kind: FreshnessPolicy
metadata: { name: monthly }
spec: { environment: prod, late: 14d, stale: 35d }
`,
  );
  const words = ['--platform', 'platform', '--now'];
  const now = succeed(await office.scheduler('status', ...words, formatTime(new Date()))).stdout;
  expect(now).toMatch(/^! complies +label-printer/m);
  const stale = succeed(await office.scheduler('status', ...words, later)).stdout;
  expect(stale).toMatch(/^! stale +\S+ +r1 +healthy +40 d ago$/m);
  expect(stale).toMatch(new RegExp(`^${SITE}/press-1, prod/factory-host, heard 40 d ago, .*stale$`, 'm'));
});
