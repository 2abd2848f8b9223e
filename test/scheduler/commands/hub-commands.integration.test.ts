import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { fingerprint } from '#bundles/trust/keys/key';
import Compare from '../../../scheduler/commands/observe/compare.ts';
import Events from '../../../scheduler/commands/observe/events.ts';
import History from '../../../scheduler/commands/observe/history.ts';
import Status from '../../../scheduler/commands/observe/status.ts';
import Where from '../../../scheduler/commands/observe/where.ts';
import ReportsImport from '../../../scheduler/commands/reports-import.ts';
import RootInit from '../../../scheduler/commands/root/init.ts';
import RootInspect from '../../../scheduler/commands/root/inspect.ts';
import SitesEnroll from '../../../scheduler/commands/sites/enroll.ts';
import SitesList from '../../../scheduler/commands/sites/list.ts';
import SitesRenew from '../../../scheduler/commands/sites/renew.ts';
import SitesRevoke from '../../../scheduler/commands/sites/revoke.ts';
import TokensCreate from '../../../scheduler/commands/tokens/create.ts';
import SitesSet from '../../../scheduler/commands/sites/set.ts';
import { siteReference } from '../../../scheduler/load/releases/references.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { ask, chain, HOSTS, happenings, report, type TestHub, testAgent, testHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

const WHY = ['--reason', 'a test'];

/** Entry of plant-7 in the index of a layout. */
const siteIn = async (layout: string) => findReference(await openLayout(layout), siteReference('plant-7'));

const NOW = '2026-11-21T08:00:00Z';

const places = (hub: TestHub, db = join(hub.path, 'hub.db'), layout = hub.layout): readonly string[] =>
  Object.entries({
    keys: join(hub.path, 'keys'),
    layout,
    db,
    now: NOW,
  }).flatMap(([flag, value]) => [`--${flag}`, value]);

describe('root init and root inspect', () => {
  it('create a root with --dev only, warn about it, and print its SHA-256', async () => {
    await using folder = await temporaryDirectory('root');
    const keys = join(folder.path, 'keys');
    const refused = await runCommandClass(RootInit, ['--fleet', 'acme', '--keys', keys]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--dev')]);
    const made = await runCommandClass(RootInit, ['--dev', '--fleet', 'acme', '--keys', keys]);
    succeed(made);
    expect(made.err).toContain('DEV');
    const sha = /SHA-256 ([0-9a-f]{64})/.exec(made.out)?.[1];
    expect(await readdir(keys)).toContain('1.root.json');
    const shown = await runCommandClass(RootInspect, ['--keys', keys]);
    expect(shown.out).toContain(`root 1  SHA-256 ${sha}`);
    expect(shown.out).toContain('release: 1 of 1');
    const json = (await runCommandClass(RootInspect, ['--keys', keys, '--json'])).json();
    expect(json).toMatchObject({ fleet: 'acme', dev: true, version: 1 });
    const again = await runCommandClass(RootInit, ['--dev', '--fleet', 'acme', '--keys', keys]);
    expect(again.err).toContain('ALREADY_ENROLLED');
  });

  it('are refused without the directory of keys', async () => {
    const { code, err } = await runCommandClass(RootInspect, []);
    expect([code, err]).toEqual([2, expect.stringContaining('FLEET_KEYS')]);
  });
});

/** As somebody who has compared every fingerprint on the stick. */
const enrolAll = async (stick: string, hub: TestHub) =>
  runCommandClass(SitesEnroll, [stick, ...(await acceptRequests(stick)), ...places(hub)]);

describe('the hub commands', () => {
  it('handle a medium from the enrolment request through values and reports to the status table', async () => {
    await using hub = await testHub();
    const at = places(hub);
    const agent = testAgent('plant-7/press-1');
    const stick = await hub.stick();
    await ask(stick, agent);
    const key = fingerprint(agent.key.public);
    const unasked = await runCommandClass(SitesEnroll, [stick, ...at]);
    expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining(`with the key ${key}`)]);
    const unnamed = await runCommandClass(SitesEnroll, [stick, '--replace-key', '--reason', 'disk', ...at]);
    expect([unnamed.code, unnamed.err]).toEqual([2, expect.stringContaining('requires a named key')]);
    const enrolled = await runCommandClass(SitesEnroll, [stick, '--accept', key.toUpperCase(), ...at]);
    expect(enrolled.out).toContain(`plant-7/press-1 enrolled  prod/factory-host  key ${key}`);
    expect(enrolled.out).toContain('fleet-agent import');
    succeed(enrolled);

    const set = await runCommandClass(SitesSet, ['plant-7', 'port=8080', 'line=north', ...at]);
    expect(set.out).toContain('statement 2');
    const listed = await runCommandClass(SitesList, at);
    expect(listed.out).toContain('line="north" port=8080');
    expect(listed.out).toContain(key);

    const [bundle] = await hub.layoutWriter.release({
      channel: HOSTS,
      version: 3,
      bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'x' } } }],
    });
    expect(bundle).toBeTruthy();
    const silent = (await runCommandClass(Status, ['--json', ...at])).json() as {
      rows: { verdict: string; desired: { package: Digest } }[];
    };
    expect(silent.rows.map(({ verdict }) => verdict)).toEqual(['never reported']);

    const lines = chain(agent, [
      ...happenings(2),
      {
        type: 'package',
        assignment: 'oven',
        package: silent.rows[0]?.desired.package,
        release: { ...HOSTS, version: 3 },
        outcome: 'created',
      },
    ]);
    await report(stick, agent, lines);
    const imported = await runCommandClass(ReportsImport, [stick, ...at]);
    expect(imported.out).toContain('plant-7/press-1  3 events taken, 0 already known  acknowledged up to 3');
    succeed(imported);

    const status = await runCommandClass(Status, [...at, '--wide']);
    expect(status.out).toMatch(/plant-7\/press-1 {2}prod\/factory-host {2}oven .* complies/);
    expect(status.out).toContain('[1] plant-7/press-1: report 1-3 by stick, received just now');

    const changes = (await runCommandClass(History, [agent.id, '--json', ...at])).json();
    expect(changes).toMatchObject({
      changes: [
        { field: 'package', seq: 3 },
        { field: 'health', seq: 3 },
      ],
    });
    expect((await runCommandClass(History, ['--rebuild', ...at])).out).toBe(
      '2 changes from 3 events in 1 reports\n',
    );
    expect((await runCommandClass(Where, ['oven', ...at])).out).toMatch(
      / {2}oven {2}oven [0-9a-f]{12} {2}for .*, healthy/,
    );
    expect((await runCommandClass(Events, ['plant-7', '--limit', '1', ...at])).out).toContain(
      'More: --cursor ',
    );
    expect((await runCommandClass(Compare, ['prod', 'prod', ...at])).out).toBe(
      '1 of 1 assignments are the same in prod and prod.\n',
    );

    const endless = await runCommandClass(SitesRenew, ['--within', '99999999999', ...at]);
    expect([endless.code, endless.err]).toEqual([2, expect.stringContaining('at most 3650')]);
    const renewed = await runCommandClass(SitesRenew, ['--within', '380', '--json', ...at]);
    expect(renewed.json()).toMatchObject({ renewed: [{ site: 'plant-7', version: 3 }] });
    const revoked = await runCommandClass(SitesRevoke, [agent.id, ...WHY, ...at]);
    expect(revoked.out).toContain('statement 4');
    expect((await runCommandClass(Status, at)).out).toContain('No agent is enrolled here.');
    const filtered = await runCommandClass(Status, [...at, '--site', 'plant-9', '--environment', 'prod']);
    expect(filtered.out).toContain('No agent of environment prod and site plant-9 is enrolled here.');
  });

  it('refuse to read a missing database instead of showing a fleet without sites', async () => {
    await using hub = await testHub();
    const db = join(hub.path, 'elsewhere', 'hub.db');
    for (const Reading of [Status, SitesList]) {
      const { code, err } = await runCommandClass(Reading, places(hub, db));
      expect([code, err]).toEqual([
        5,
        expect.stringContaining(`SITE_MISSING: there is no hub database at ${db}`),
      ]);
    }
    expect(await readdir(hub.path)).not.toContain('elsewhere');
  });

  it('refuse to enrol into a new database beside a layout that has sites', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    const db = join(hub.path, 'other.db');
    for (const lost of [false, true]) {
      if (lost) await writeFile(db, '');
      const { code, err } = await runCommandClass(SitesEnroll, [stick, ...places(hub, db)]);
      expect([code, err]).toEqual([5, expect.stringContaining(`there is no hub database at ${db}`)]);
    }
    expect(await readFile(db, 'utf8')).toBe('');
  });

  it('refuse to start another layout beside the one with the site statements', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    const layout = join(hub.path, 'relases');
    const elsewhere = places(hub, undefined, layout);
    for (const [command, words] of [
      [SitesSet, ['plant-7', 'port=8080']],
      [SitesRenew, ['--within', '380']],
      [SitesRevoke, ['plant-7/press-1', ...WHY]],
      [Status, []],
    ] as const) {
      const { code, err } = await runCommandClass(command, [...words, ...elsewhere]);
      expect([code, err]).toEqual([
        5,
        expect.stringContaining(`MEDIUM_MISSING: ${layout} is not an OCI layout`),
      ]);
    }
    expect(await readdir(hub.path)).not.toContain('relases');
    const set = await runCommandClass(SitesSet, ['plant-7', 'port=8080', ...places(hub)]);
    expect(set.out).toContain('site plant-7 is at statement 2;');
  });

  it('complete a layout whose first writer was killed before the marker', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    await rm(join(hub.layout, 'oci-layout'));
    const status = await runCommandClass(Status, places(hub));
    expect([status.code, status.err]).toEqual([0, '']);
    expect(await readdir(hub.layout)).toContain('oci-layout');
  });

  it('write the newest site statement into a layout that lacks it, and report it', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    const old = join(hub.path, 'old-copy');
    await cp(hub.layout, old, { recursive: true });
    await runCommandClass(SitesSet, ['plant-7', 'port=8080', ...places(hub)]);
    const words = ['plant-7', 'port=8080', ...places(hub, undefined, old)];
    const behind = await runCommandClass(SitesSet, words);
    expect(behind.out).toContain(
      `site plant-7 is unchanged; its statement 2 is brought up to date in ${old}`,
    );
    expect(await siteIn(old)).toEqual(await siteIn(hub.layout));
    const again = await runCommandClass(SitesSet, words);
    expect(again.out).toContain('site plant-7 is unchanged, at statement 2');
  });

  it('report a value that --unset did not find, with the nearest name', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    await runCommandClass(SitesSet, ['plant-7', 'port=8080', ...places(hub)]);
    const why = ['--reason', 'the gateway has the default'];
    const unset = (...words: string[]) =>
      runCommandClass(SitesSet, ['plant-7', ...words, ...why, ...places(hub)]);
    expect(await unset('--unset', 'prot')).toMatchObject({
      code: 0,
      err: 'site plant-7 has no value prot to remove. Did you mean port?\n',
    });
    expect(await unset('--unset', 'port')).toMatchObject({ code: 0, err: '' });
    expect(await unset('--unset', 'port', '--agent', 'press-1')).toMatchObject({
      code: 0,
      err: 'agent press-1 of site plant-7 has no value port to remove.\n',
    });
  });

  it.each([
    ['a value', SitesSet, ['plant-7', '--unset', 'port'], /plant-7 loses the value port, and packages/],
    [
      'an agent’s values',
      SitesSet,
      ['plant-7', '--agent', 'press-1', '--unset', 'port', '--unset', 'line'],
      /plant-7\/press-1 loses the values port, line/,
    ],
    [
      'a key',
      SitesEnroll,
      ['STICK', '--replace-key', '--accept', 'f'.repeat(64)],
      /the key that an agent has is refused/,
    ],
    [
      'a key by a token',
      TokensCreate,
      ['--site', 'plant-7', '--replace-key'],
      /the key that an agent has is refused/,
    ],
  ] as const)('removes %s only with --reason, and explains the effect', async (_, command, words, says) => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    const typed = words.map((word) => (word === 'STICK' ? stick : word));
    const before = (await runCommandClass(SitesList, places(hub))).out;
    const { code, err } = await runCommandClass(command, [...typed, ...places(hub)]);
    expect([code, err]).toEqual([2, expect.stringMatching(/--reason is missing: /)]);
    expect(err).toMatch(says);
    expect((await runCommandClass(SitesList, places(hub))).out).toBe(before);
    const reasoned = await runCommandClass(command, [...typed, '--reason', 'moved', ...places(hub)]);
    expect(reasoned.err).not.toContain('--reason is missing');
  });

  it('refuse to write an older site statement from an old copy of the database', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    const copy = join(hub.path, 'other.db');
    for (const suffix of ['', '-wal']) await cp(`${join(hub.path, 'hub.db')}${suffix}`, `${copy}${suffix}`);
    await runCommandClass(SitesSet, ['plant-7', 'port=8080', ...places(hub)]);
    const index = join(hub.layout, 'index.json');
    const before = await readFile(index, 'utf8');
    const { code, err } = await runCommandClass(SitesSet, ['plant-7', 'port=1', ...places(hub, copy)]);
    expect([code, err]).toEqual([
      4,
      expect.stringContaining(`ROLLBACK: ${hub.layout} has statement 2 of site plant-7`),
    ]);
    expect(err).toContain('the newest in this database is 1');
    expect(await readFile(index, 'utf8')).toBe(before);
    const renewed = await runCommandClass(SitesRenew, ['--within', '0', ...places(hub, copy)]);
    expect([renewed.code, renewed.out]).toEqual([
      4,
      expect.stringContaining('Every statement is valid until'),
    ]);
    expect(renewed.err).toContain('has statement 2 of site plant-7');
  });

  it('report each refused report at the end, and exit with 8', async () => {
    await using hub = await testHub();
    const [good, stranger] = [testAgent('plant-7/press-1'), testAgent('plant-9/stranger')];
    const stick = await hub.stick();
    await ask(stick, good);
    await enrolAll(stick, hub);
    await report(stick, good, chain(good, happenings(1)));
    await report(stick, stranger, chain(stranger, happenings(1)));
    const ran = await runCommandClass(ReportsImport, [stick, ...places(hub)]);
    expect(ran.code).toBe(8);
    expect(ran.out).toContain('1 events taken');
    expect(ran.err).toContain('AGENT_UNKNOWN');
    expect(ran.err).toContain('REPORTS_REFUSED');
    const json = await runCommandClass(ReportsImport, [stick, '--json', ...places(hub)]);
    expect([json.code, json.err]).toEqual([8, '']);
    expect(json.json()).toMatchObject({
      agents: [{ agent: good.id, known: 1 }],
      refused: [{ code: 'AGENT_UNKNOWN' }],
    });
  });

  it('report a single refused request with its remedy and its exit code', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await enrolAll(stick, hub);
    await ask(stick, testAgent('plant-7/press-1'));
    const one = await enrolAll(stick, hub);
    expect([one.code, one.err]).toEqual([2, expect.stringContaining('--replace-key')]);
    await ask(stick, testAgent('plant-7/press-2'));
    const both = await enrolAll(stick, hub);
    expect([both.code, both.err]).toEqual([8, expect.stringContaining('REQUESTS_REFUSED')]);
    expect(both.out).toContain('plant-7/press-2 enrolled');
  });

  it.each([
    [SitesEnroll, ['nowhere', '--accept', 'abc'], 'USAGE'],
    [SitesEnroll, ['nowhere', '--channel', 'prod'], 'NAME_INVALID'],
    [SitesSet, ['plant-7'], 'USAGE'],
    [SitesSet, ['plant-7', 'noequals'], 'USAGE'],
    [SitesRevoke, ['plant-7', ...WHY], 'USAGE'],
    [ReportsImport, ['nowhere'], 'MEDIUM_MISSING'],
    [Status, ['--site', 'Plant 7'], 'NAME_INVALID'],
  ])('%o %j is refused as %s', async (command, argv, code) => {
    await using hub = await testHub();
    const ran = await runCommandClass(command, [...argv, ...places(hub)]);
    expect(ran.err).toContain(code);
    expect(ran.code).not.toBe(0);
  });
});
