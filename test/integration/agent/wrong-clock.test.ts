import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Row } from '../../../scheduler/hub/questions/state/what-runs-where.ts';
import { type Office, openOffice } from '../../e2e/office.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { carryHome, carryOut, enroll, type Site, startSite, withoutUnits } from './folder-site.ts';

const SITE = 'plant-7';
const LABEL = 'etc/label-printer/label.zpl';

/** An agent whose machine has a clock that is a year wrong, with media of an office whose clock is right. */
describeWith(['faketime'], 'a site whose clock is a year wrong', ({ faketime }) => {
  let folder: TemporaryDirectory;
  let office: Office;
  let site: Site;
  let edition = 0;
  beforeAll(async () => {
    folder = await temporaryDirectory('wrong-clock');
    office = await openOffice(folder.path);
    await withoutUnits(office);
    await office.build();
    site = await startSite(office, SITE);
    await enroll(office, site, 'prod/factory-host');
    await carryOut(office, site);
    await carryHome(office, site);
  });
  afterAll(() => folder[Symbol.asyncDispose]());

  const commandOf = (words: readonly string[]): readonly [string, ...string[]] => [
    process.execPath,
    programFile('agent'),
    ...words,
    '--config',
    join(office.folder, 'sites', SITE, 'agent.yaml'),
  ];
  /** @param clock such as '+365d' */
  const optionsAt = (clock: string) => ({
    cwd: office.folder,
    env: { ...process.env, LD_PRELOAD: faketime, FAKETIME: clock, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
  });
  const agentAt = (clock: string, ...words: readonly string[]): Promise<Outcome> =>
    runCommand(commandOf(words), optionsAt(clock));
  const startAt = (clock: string, ...words: readonly string[]) => {
    const [program, ...rest] = commandOf(words);
    return spawn(program, rest, { ...optionsAt(clock), stdio: 'ignore' });
  };
  const said = ({ stdout, stderr }: Outcome): string => stdout + stderr;

  /** A medium with a release that the site does not have. */
  const next = async (): Promise<string> => {
    edition += 1;
    await office.edit('apps/label-printer/host/package.yaml', (text) =>
      text.replace('spec:\n', `spec:\n  # edition ${edition}\n`),
    );
    await office.edit('apps/label-printer/host/label.zpl', (text) => `${text}^FX edition ${edition}\n`);
    await office.build();
    await office.fill(site.medium, SITE);
    return site.medium;
  };
  /** Carries what the agent says at a clock to the office. */
  const evidence = async (clock: string): Promise<void> => {
    succeed(await agentAt(clock, 'reports', 'export', site.medium));
    succeed(await office.scheduler('reports', 'import', site.medium));
  };
  const rows = async (): Promise<readonly Row[]> =>
    ((await office.status()) as { readonly rows: readonly Row[] }).rows.filter((row) => row.site === SITE);
  const verdicts = async () => new Set((await rows()).map(({ verdict }) => verdict));

  it('a year ahead: takes nothing new, corrects drift, and takes the same medium when the clock is right', async () => {
    const medium = await next();
    const refused = await agentAt('+365d', 'import', medium);
    expect(refused.code).not.toBe(0);
    expect(said(refused)).toContain('EXPIRED');
    await rm(join(site.host, LABEL));
    await agentAt('+365d', 'run', '--once');
    expect(existsSync(join(site.host, LABEL))).toBe(true);
    const state = said(await agentAt('+365d', 'status'));
    expect(state).toContain('running packages are not affected');
    for (const what of ['the trust root', `the statement of site ${SITE}`, 'release 1 of prod/factory-host'])
      expect(state).toMatch(new RegExp(`Stale +since .*: ${what} ended at`));
    expect(said(await agentAt('+365d', 'doctor'))).toMatch(/clock +warning +\d{4}/);
    await evidence('+365d');
    // What it says it saw in a year is no older and no newer than the report's arrival.
    for (const row of await rows()) expect(row.saidAgeSeconds).toBeLessThan(3600);
    // Right again: nothing of that year is left.
    succeed(await site.agent('import', medium));
    expect(said(await site.agent('status'))).not.toContain('Stale');
    await carryHome(office, site);
    expect(await verdicts()).toEqual(new Set(['complies']));
    // A look of the year ahead counts for no later time.
    await rm(join(site.host, LABEL));
    await carryHome(office, site);
    expect(await verdicts()).toContain('drifted');
    succeed(await site.agent('run', '--once'));
    await carryHome(office, site);
    expect(await verdicts()).toEqual(new Set(['complies']));
  });

  it('a year back: takes a newer release and no older one, and its evidence counts when the clock is right', async () => {
    const medium = await next();
    const taken = await agentAt('-365d', 'import', medium);
    succeed(taken);
    // Time does not go back: the newest signed time counts, and the age of the release with it.
    expect(said(await agentAt('-365d', 'status'))).toMatch(/Release +\d+, 0 days old/);
    await evidence('-365d');
    for (const row of await rows()) expect(row.saidAgeSeconds).toBeLessThan(3600);
    // An older medium is older in any year.
    const older = join(office.folder, 'older');
    await cp(medium, older, { recursive: true });
    await next();
    succeed(await site.agent('import', site.medium));
    const refused = await agentAt('-365d', 'import', older);
    expect(said(refused)).toContain('ROLLBACK');
    succeed(await site.agent('run', '--once'));
    await carryHome(office, site);
    expect(await verdicts()).toEqual(new Set(['complies']));
  });

  it('with leases: two months ahead refuses them, a year back takes them, and is healthy when the clock is right', async () => {
    succeed(await office.scheduler('sites', 'set', SITE, '--agent', 'press-1', '--freshness', 'lease:14d'));
    const words = ['lease', 'renew', '--channel', 'prod/factory-host', '--days', '30'];
    succeed(await office.scheduler(...words));
    const medium = await next();
    // The release is valid for 180 days, its lease for 30.
    const refused = await agentAt('+60d', 'import', medium);
    expect(refused.code).not.toBe(0);
    expect(said(refused)).toContain('LEASE_MISSING');
    succeed(await agentAt('-365d', 'import', medium));
    expect(said(await agentAt('-365d', 'status'))).toMatch(/^Lease +\d+, live until /m);
    expect(said(await agentAt('+60d', 'status'))).toMatch(/^Stale +since .* lease/m);
    succeed(await site.agent('import', medium));
    const state = said(await site.agent('status'));
    expect(state).toMatch(/^Lease +\d+, live until /m);
    expect(state).not.toContain('Stale');
    await carryHome(office, site);
    expect(await verdicts()).toEqual(new Set(['complies']));
  });

  it('a year ahead: an agent that runs keeps no lock from one whose clock is right, also when it is killed', async () => {
    const running = startAt('+365d', 'run');
    try {
      await expect
        .poll(async () => said(await agentAt('+0d', 'doctor')), { timeout: 60_000 })
        .toMatch(/^service +good/m);
      // Each waits for the other.
      succeed(await site.agent('import', await next()));
    } finally {
      running.kill('SIGKILL');
      await once(running, 'exit');
    }
    succeed(await site.agent('run', '--once'));
    await carryHome(office, site);
    expect(await verdicts()).toEqual(new Set(['complies']));
  });
});
