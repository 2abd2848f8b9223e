import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import { formatLines } from '../../../../../cli/format-table.ts';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, hexOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { formatChannel } from '#bundles/names';
import { addDays, DAY_MS, formatTime } from '#bundles/time';
import {
  describeStatus,
  describeVisits,
} from '../../../../../scheduler/hub/questions/status/describe-status.ts';
import { type FreshnessPolicies, NO_AGEING } from '../../../../../scheduler/hub/questions/state/freshness.ts';
import { formatAge } from '../../../../../scheduler/hub/questions/status/format-age.ts';
import { readActual } from '../../../../../scheduler/hub/questions/state/read-actual.ts';
import { channelsOf } from '../../../../../scheduler/hub/questions/state/read-agents.ts';
import { readDesired } from '../../../../../scheduler/hub/questions/state/read-desired.ts';
import { readStatus } from '../../../../../scheduler/hub/questions/status/read-status.ts';
import { renderNarrow } from '../../../../../scheduler/hub/questions/status/render-narrow.ts';
import { renderTable } from '../../../../../scheduler/hub/questions/status/render-table.ts';
import { streamJson, streamLines } from '../../../../../scheduler/hub/questions/status/stream-status.ts';
import {
  type ActualAgent,
  type ActualState,
  type Desired,
  whatRunsWhere,
} from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import { newSigningKey } from '../../../../harness/fleets/signed-fleet.ts';
import {
  chain,
  enrolled,
  enrolledHub,
  type Happening,
  HOSTS,
  NOW,
  report,
  type TestHub,
  testHub,
  digest,
} from '../../test-hub.ts';

const hours = (count: number): Date => new Date(NOW.getTime() - (count * DAY_MS) / 24);

const source = (from: number, to: number, received: Date) => ({
  report: digest(String(from % 10)),
  from,
  to,
  by: 'stick',
  receivedAt: formatTime(received),
  clockTrusted: true,
});

const runs = (assignment: string, digit: string, more: Partial<ActualState> = {}): ActualState => {
  const cell = { seq: 40, at: formatTime(hours(5)), source: source(12, 40, hours(2)) };
  return {
    assignment,
    running: { ...cell, package: digest(digit), siteValues: null, version: 4 },
    health: { ...cell, outcome: 'configured', type: 'package', code: null, message: null },
    drift: { ...cell, drifted: false, message: null },
    ...more,
  };
};

const agentWith = (states: readonly ActualState[], more: Partial<ActualAgent> = {}): ActualAgent => ({
  site: 'plant-7',
  agent: 'press-1',
  channel: HOSTS,
  labels: {},
  enrolledAt: formatTime(addDays(NOW, -9)),
  reported: true,
  heardAt: formatTime(hours(2)),
  saidAt: formatTime(hours(2)),
  silent: false,
  online: true,
  held: null,
  follower: null,
  accepted: null,
  states,
  ...more,
});

const wants = (
  packages: Readonly<Record<string, Digest>>,
  rollout = { percent: 100 },
): ReadonlyMap<string, Desired> =>
  new Map([
    [
      formatChannel(HOSTS),
      {
        kind: 'release',
        version: 5,
        issuedAt: formatTime(hours(30)),
        expires: formatTime(addDays(NOW, 100)),
        rollout,
        packages: new Map(Object.entries(packages)),
        held: [],
      } satisfies Desired,
    ],
  ]);

const verdicts = (rows: ReturnType<typeof whatRunsWhere>) =>
  Object.fromEntries(rows.map(({ assignment, verdict }) => [assignment, verdict]));

describe('what runs where', () => {
  it('compares each assignment with its wanted package', () => {
    const failed = { seq: 41, at: formatTime(hours(1)), source: source(41, 41, hours(1)) };
    const rows = whatRunsWhere(
      wants({
        a: digest('1'),
        b: digest('2'),
        c: digest('3'),
        d: digest('4'),
        e: digest('5'),
        f: digest('6'),
      }),
      [
        agentWith([
          runs('a', '1'),
          runs('b', '1'),
          runs('d', '4', { drift: { ...failed, drifted: true, message: 'x' } }),
          runs('e', '1', {
            health: { ...failed, outcome: 'failed', type: 'package', code: 'UNIT_FAILED', message: null },
          }),
          runs('z', '9'),
          runs('f', '6', {
            health: { ...failed, outcome: 'created', type: 'package', code: 'HEALTH_UNKNOWN', message: null },
          }),
          runs('gone', '9', { running: { ...failed, package: null, siteValues: null, version: null } }),
        ]),
      ],
      NOW,
    );
    expect(verdicts(rows)).toEqual({
      a: 'complies',
      b: 'behind',
      c: 'missing',
      d: 'drifted',
      e: 'failed',
      f: 'unknown',
      z: 'extra',
    });
    expect(shown(renderTable(rows, NOW)).find((line) => line.includes(' f '))).toMatch(
      / unknown, .* ! unknown$/,
    );
    expect(rows[0]).toMatchObject({
      desired: { version: 5, package: digest('1') },
      running: {
        version: 4,
        ageSeconds: 5 * 3600,
        receivedAgeSeconds: 2 * 3600,
        source: { from: 12, to: 40 },
      },
    });
  });

  it('is "not selected" for an agent outside of the rollout', () => {
    const rows = whatRunsWhere(
      wants({ a: digest('1'), b: digest('2') }, { percent: 0 }),
      [agentWith([runs('a', '1'), runs('b', '1')])],
      NOW,
    );
    expect(verdicts(rows)).toEqual({ a: 'complies', b: 'not selected' });
  });

  it('has rows for agents that never reported, also without a release', () => {
    const silent = agentWith([], { reported: false, heardAt: null });
    expect(verdicts(whatRunsWhere(wants({ a: digest('1') }), [silent], NOW))).toEqual({
      a: 'never reported',
    });
    expect(verdicts(whatRunsWhere(new Map(), [silent], NOW))).toEqual({ null: 'never reported' });
    expect(verdicts(whatRunsWhere(new Map(), [agentWith([])], NOW))).toEqual({ null: 'no release' });
  });

  it('shows the running version when the release is missing or refused', () => {
    const agent = agentWith([runs('a', '1')]);
    expect(verdicts(whatRunsWhere(new Map(), [agent], NOW))).toEqual({ a: 'no release' });
    const refused = new Map([[formatChannel(HOSTS), { kind: 'refused', message: 'x' } as const]]);
    expect(verdicts(whatRunsWhere(refused, [agent], NOW))).toEqual({ a: 'release refused' });
  });

  it('is sorted by site and agent, for any input order', () => {
    const [one, two] = [agentWith([], { agent: 'a' }), agentWith([], { site: 'alpha', agent: 'z' })];
    const order = whatRunsWhere(new Map(), [one, two], NOW).map(({ site, agent }) => `${site}/${agent}`);
    expect(order).toEqual(['alpha/z', 'plant-7/a']);
  });
});

describe('the narrow status table', () => {
  it('has a line for each agent, and its assignments below', () => {
    const rows = whatRunsWhere(
      wants({ oven: digest('1'), fan: digest('3') }),
      [agentWith([runs('oven', '2'), runs('fan', '3')]), agentWith([], { agent: 'press-2', silent: true })],
      NOW,
    );
    expect(shown(renderNarrow(rows, NOW))).toEqual([
      '  STATE     ASSIGNMENT  WANTED  HEALTH   SEEN',
      'plant-7/press-1, prod/factory-host, heard 2 h ago',
      '  complies  fan         r5      healthy  2 h ago',
      '! behind    oven        r5      healthy  2 h ago',
      'plant-7/press-2, prod/factory-host, heard 2 h ago, silent',
      '! missing   fan         r5      -        -',
      '! missing   oven        r5      -        -',
    ]);
  });

  it('reports health as unknown when it could not be checked', () => {
    const cell = { seq: 1, at: formatTime(NOW), source: source(1, 1, NOW) };
    const unchecked = {
      ...cell,
      outcome: 'configured',
      type: 'package',
      code: 'HEALTH_UNKNOWN',
      message: null,
    } as const;
    const rows = whatRunsWhere(
      wants({ oven: digest('1') }),
      [agentWith([runs('oven', '1', { health: unchecked })])],
      NOW,
    );
    expect(shown(renderNarrow(rows, NOW)).at(-1)).toMatch(/^! unknown +oven +r5 +unknown /);
  });

  it('is never wider, for long names, states and codes', () => {
    const long = 'a'.repeat(63);
    const cell = { seq: 1, at: formatTime(NOW), source: source(1, 1, NOW) };
    const failed = {
      ...cell,
      outcome: 'failed',
      type: 'check',
      code: 'A\nB'.repeat(40),
      message: null,
    } as const;
    const agent = agentWith([runs(long, '1', { health: failed })], { site: 'b'.repeat(63), silent: true });
    const refused = new Map([[formatChannel(HOSTS), { kind: 'refused', message: 'x' } as const]]);
    for (const desired of [wants({ [long]: digest('1') }), refused]) {
      const lines = formatLines(renderNarrow(whatRunsWhere(desired, [agent], NOW), NOW), 80);
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
      expect(lines.join('').replaceAll(/[^a]/g, '').length).toBeGreaterThanOrEqual(long.length);
    }
  });
});

describe('the wide status table', () => {
  it('has an age for each reported cell, and the source and time of each report', () => {
    const later = { seq: 41, at: formatTime(hours(1)), source: source(41, 41, hours(0.5)) };
    const rows = whatRunsWhere(
      wants({ oven: digest('1') }),
      [agentWith([runs('oven', '2', { drift: { ...later, drifted: true, message: null } })])],
      NOW,
    );
    const [heading, row, , ...notes] = shown(renderTable(rows, NOW));
    expect(heading).toMatch(/^SITE\/AGENT +CHANNEL +ASSIGNMENT +WANTED +RUNS +HEALTH +DRIFT +HEARD +STATE$/);
    expect(row).toMatch(
      /^plant-7\/press-1 {2}prod\/factory-host {2}oven +r5 111111111111 {2}222222222222, 5 h ago \[1] {2}healthy, 5 h ago \[1] {2}drifted, 1 h ago \[2] {2}2 h ago {2}! behind$/,
    );
    expect(notes).toEqual([
      '[1] plant-7/press-1: report 12-40 by stick, received 2 h ago',
      '[2] plant-7/press-1: report 41-41 by stick, received 30 min ago',
    ]);
    expect(heading?.indexOf('STATE')).toBe(row?.indexOf('! behind'));
  });

  it('marks a silent agent, even if it complied', () => {
    const silent = agentWith([runs('oven', '1')], { silent: true });
    const rows = whatRunsWhere(wants({ oven: digest('1') }), [silent], NOW);
    expect(rows).toMatchObject([{ verdict: 'complies', silent: true, heardAt: formatTime(hours(2)) }]);
    expect(shown(renderTable(rows, NOW))[1]).toMatch(/ 2 h ago {2}! complies, silent$/);
    expect(describeStatus(new Map(), { agents: [silent], gaps: [], alarms: [] }, NOW)).toEqual([
      'plant-7/press-1 is silent: it was online, and the hub last heard it 2 h ago',
    ]);
  });

  it.each([
    ['an escape sequence', '\u001b[2J', String.raw`\u001b[2J`],
    ['a line feed', 'A\nB', 'A B'],
    ['a bidirectional override', 'A\u202eB', String.raw`A\u202eB`],
    ['a bidirectional isolate', 'A\u2066B', String.raw`A\u2066B`],
  ])('escapes %s in the code of an agent', (_, code, escaped) => {
    const cell = { seq: 1, at: formatTime(NOW), source: source(1, 1, NOW) };
    const evil = runs('oven', '1', {
      health: { ...cell, outcome: 'failed', type: 'check', code, message: null },
    });
    const rows = whatRunsWhere(wants({ oven: digest('1') }), [agentWith([evil])], NOW);
    const lines = shown(renderTable(rows, NOW));
    expect(lines[1]).toContain(`failed ${escaped}, `);
    expect(lines.join('')).not.toContain(code);
  });

  it.each([
    [0, 'just now'],
    [90, '1 min ago'],
    [47 * 3600, '47 h ago'],
    [49 * 3600, '2 d ago'],
    [-7200, '2 h ahead'],
  ])('formats %i seconds as %s', (seconds, text) => {
    expect(formatAge(formatTime(new Date(NOW.getTime() - seconds * 1000)), NOW)).toBe(text);
  });
});

const look = async (hub: TestHub, filter: Parameters<typeof readActual>[1] = {}, now = NOW) => {
  const actual = await readActual(hub.store.db, filter, now);
  const desired = await readDesired(hub.layout, channelsOf(actual.agents), hub.keys.root);
  return { rows: whatRunsWhere(desired, actual.agents, now), notes: describeStatus(desired, actual, now) };
};

const releaseOf = async (hub: TestHub, version: number, text: string, more: object = {}) => {
  const [bundle] = await hub.layoutWriter.release({
    channel: HOSTS,
    version,
    bundles: [{ kind: 'host', packages: { oven: { 'package.json': text } } }],
    ...more,
  });
  const { config } = await readBundle((await openLayout(hub.layout)).blobs, bundle as Digest);
  return config.assignments[0]?.package as Digest;
};

const applied = (pack: Digest, version: number): Happening => ({
  type: 'package',
  assignment: 'oven',
  package: pack,
  release: { ...HOSTS, version },
  outcome: 'configured',
});

describe('the status from signed releases and reports', () => {
  it('follows an agent from its enrolment over its first report to the next release', async () => {
    await using hub = await testHub();
    const first = await releaseOf(hub, 1, 'one');
    const agent = await enrolled(hub, 'plant-7/press-1');
    expect(verdicts((await look(hub)).rows)).toEqual({ oven: 'never reported' });
    const stick = await hub.stick();
    await report(stick, agent, chain(agent, [applied(first, 1)]));
    await hub.importFrom(stick);
    const complies = await look(hub, {}, addDays(NOW, 1));
    expect(complies.rows).toMatchObject([
      {
        site: 'plant-7',
        agent: 'press-1',
        assignment: 'oven',
        desired: { version: 1, package: first },
        running: { version: 1, package: first, source: { from: 1, to: 1, by: 'stick' } },
        verdict: 'complies',
      },
    ]);
    const second = await releaseOf(hub, 2, 'two');
    const behind = await look(hub);
    expect(behind.rows).toMatchObject([{ desired: { version: 2, package: second }, verdict: 'behind' }]);
    expect(shown(renderTable(behind.rows, NOW))[1]).toContain(`r2 ${hexOf(second).slice(0, 12)}`);
  });

  it('shows why a package failed or was rolled back, with the check and its output', async () => {
    await using hub = await enrolledHub();
    const one = digest('1');
    const at = formatTime(hours(2));
    const checks = [
      { name: 'up', outcome: 'passed', message: 'fine' },
      {
        name: 'web',
        outcome: 'failed',
        message: 'curl ended with 7',
        output: 'a\nb\u001b[1m\nc\nd\ne\nf\ng\nh\ni\nj\nk',
      },
      { name: 7, outcome: 'failed' },
    ];
    const failed = { package: one, code: 'CHECK_FAILED', message: 'web: curl ended with 7', at };
    const byHand = 'rolled back by anna: labels come out blank';
    const lines = chain(hub.agent, [
      { type: 'package', assignment: 'kiosk', package: one, outcome: 'created', at },
      { type: 'package', assignment: 'kiosk', outcome: 'failed', ...failed, detail: { checks } },
      {
        type: 'rolled-back',
        assignment: 'printer',
        package: one,
        outcome: 'configured',
        message: byHand,
        at,
      },
      { type: 'package', assignment: 'well', package: one, outcome: 'created', message: 'not shown', at },
    ]);
    await report(await hub.stick(), hub.agent, lines);
    await hub.importFrom(await hub.stick());
    const { lines: shown, json } = await readStatus(hub, {}, NOW);
    const printed = formatLines(shown.slice(shown.indexOf('') + 1), undefined).join('\n');
    expect(printed).toContain(
      [
        'plant-7/press-1 kiosk, 2 h ago: CHECK_FAILED: web: curl ended with 7',
        '  check web printed:',
        '    a',
        '    b\\u001b[1m',
        '    c',
        '    d',
        '    e',
        '    f',
        '    g',
        '    h',
        '    i',
        '    j',
        '    ... 1 more lines: --json has them',
        `plant-7/press-1 printer, 2 h ago: ${byHand}`,
      ].join('\n'),
    );
    expect(printed).not.toContain('not shown');
    const { rows } = json as { readonly rows: readonly { readonly health: unknown }[] };
    expect(rows.map(({ health }) => health)).toMatchObject([
      { code: 'CHECK_FAILED', checks: [{ name: 'web', message: 'curl ended with 7' }] },
      { message: byHand },
      { message: 'not shown' },
    ]);
  });

  it('ignores a release without a valid signature, with a note', async () => {
    await using hub = await enrolledHub();
    await releaseOf(hub, 1, 'one', { releaseKey: newSigningKey() });
    const { rows, notes } = await look(hub);
    expect(verdicts(rows)).toEqual({ null: 'never reported' });
    expect(notes.join('\n')).toContain('the release in the layout is refused: UNKNOWN_KEY');
    await releaseOf(hub, 2, 'two', { bundleKey: newSigningKey() });
    expect((await look(hub)).notes.join('\n')).toContain('UNKNOWN_KEY');
  });

  it('includes a note for a damaged bundle', async () => {
    await using hub = await enrolledHub();
    const [bundle] = await hub.layoutWriter.release({
      channel: HOSTS,
      version: 1,
      bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'one' } } }],
    });
    await rm(join(hub.layout, 'blobs/sha256', hexOf(bundle as Digest)));
    expect((await look(hub)).notes.join('\n')).toContain('MISSING_BLOB');
  });

  it('shows gaps, alarms and silent agents, and filters by environment and site', async () => {
    await using hub = await testHub();
    const press = await enrolled(hub, 'plant-7/press-1');
    const oven = await enrolled(hub, 'plant-8/oven', { environment: 'dev', clusterType: 'factory-host' });
    const [stick, fork] = [await hub.stick('a'), await hub.stick('b')];
    await report(stick, press, chain(press, [{ type: 'a' }, { type: 'b' }, { type: 'c' }]), 3, 3);
    await hub.importFrom(stick);
    await report(fork, press, chain(press, [{ type: 'other' }, { type: 'story' }]));
    await hub.importFrom(fork);
    const { rows, notes } = await look(hub);
    expect(rows.map(({ site, verdict }) => [site, verdict])).toEqual([
      ['plant-7', 'no release'],
      ['plant-8', 'never reported'],
    ]);
    const text = notes.join('\n');
    expect(text).toContain(`${oven.id} has never reported`);
    expect(text).toContain('plant-7/press-1: events 1-2 are missing');
    expect(text).toContain('alarm REPORT_CHAIN');
    expect((await look(hub, { environment: 'dev' })).rows.map(({ site }) => site)).toEqual(['plant-8']);
    expect((await look(hub, { site: 'plant-7' })).rows.map(({ site }) => site)).toEqual(['plant-7']);
  });
});

describe('a page of the status', () => {
  it('has the agents after a cursor, with their reports, gaps and rows', async () => {
    await using hub = await testHub();
    for (const id of ['plant-1/a', 'plant-1/b', 'plant-2/a']) {
      const agent = await enrolled(hub, id);
      const stick = await hub.stick(`of-${id.replace('/', '-')}`);
      const lines = chain(agent, [
        { type: 'package', assignment: 'oven', package: digest('a'), outcome: 'created' },
        { type: 'operator' },
        { type: 'operator' },
      ]);
      await report(stick, agent, lines, 1, 1);
      await report(stick, agent, lines, 3, 3);
      await hub.importFrom(stick);
    }
    type Json = { rows: { agent: string }[]; gaps: { agent: string }[]; next?: string | null };
    const ask = async (page?: Parameters<typeof readActual>[3]) =>
      (await readStatus(hub, {}, NOW, { page })).json as Json;
    const whole = await ask();
    expect(whole).not.toHaveProperty('next');
    const first = await ask({ limit: 2 });
    const second = await ask({ limit: 2, cursor: first.next ?? undefined });
    expect([first.rows.length, second.rows.length, second.next]).toEqual([2, 1, null]);
    expect([...first.rows, ...second.rows]).toEqual(whole.rows);
    expect([...first.gaps, ...second.gaps]).toEqual(whole.gaps);
    expect(whole.gaps).toHaveLength(3);
    await expect(ask({ limit: 2, cursor: 'x' })).rejects.toMatchObject({ code: 'USAGE' });

    const pieces = await Array.fromAsync(streamJson(hub, {}, NOW, { agents: 2 }));
    expect(pieces).toHaveLength(3);
    const streamed = JSON.parse(pieces.join('')) as Json;
    expect(streamed).toEqual(JSON.parse(JSON.stringify(whole)));
    const { lines } = await readStatus(hub, {}, NOW);
    const render = renderTable;
    expect(shown(await Array.fromAsync(streamLines(hub, {}, NOW, { render })))).toEqual(shown(lines));
    const paged = await Array.fromAsync(streamLines(hub, {}, NOW, { render, agents: 2 }));
    expect(paged.filter((line) => typeof line !== 'string')).toHaveLength(2);
    expect(paged.slice(-3)).toEqual(lines.slice(-3));
  });

  it('fails before its first byte when the first page cannot be read', async () => {
    await using hub = await enrolledHub();
    const damaged = { ...hub, layout: join(hub.path, 'keys', 'root.json', 'none') };
    await rm(join(hub.layout, 'index.json'));
    await expect(streamJson(hub, {}, NOW).next()).rejects.toMatchObject({ code: 'LAYOUT_INVALID' });
    expect((await Array.fromAsync(streamJson(damaged, {}, NOW))).join('')).toContain('never reported');
  });

  it('verifies a release once, and reads a newer one when it is written', async () => {
    await using hub = await testHub();
    const versions = async () =>
      [...(await readDesired(hub.layout, [HOSTS], hub.keys.root)).values()].map((one) =>
        one.kind === 'release' ? one.version : one.kind,
      );
    const release = (version: number) =>
      hub.layoutWriter.release({
        channel: HOSTS,
        version,
        bundles: [{ kind: 'host', packages: { oven: { 'package.json': `${version}` } } }],
      });
    expect(await versions()).toEqual(['none']);
    const [bundle] = await release(1);
    expect(await versions()).toEqual([1]);
    // What was verified under this artifact needs no second reading.
    await rm(join(hub.layout, 'blobs/sha256', hexOf(bundle as Digest)));
    expect(await versions()).toEqual([1]);
    await release(2);
    expect(await versions()).toEqual([2]);
  });
});

it('agents that a medium did not visit in time are named, with the next expected visit of the channel', () => {
  const freshness: FreshnessPolicies = {
    from: 'hub',
    policies: [
      {
        name: 'ships',
        environment: HOSTS.environment,
        clusterTypes: [],
        lateSeconds: 1,
        staleSeconds: 2,
        visitsSeconds: 10 * 86_400,
        at: { file: 'promotion/ships.yaml' },
      },
    ],
  };
  const away = (agent: string, days: number, online = false) =>
    agentWith([], { agent, online, heardAt: formatTime(addDays(NOW, -days)) });
  const agents = [away('a', 3), away('b', 12), away('c', 9), away('d', 40, true)];
  const [late, next] = [addDays(NOW, -2), addDays(NOW, 1)].map(formatTime);
  expect(describeVisits({ agents }, freshness, NOW)).toEqual([
    `plant-7/b is overdue: a medium was expected by ${late}`,
    `${formatChannel(HOSTS)}: the next medium is expected by ${next} at plant-7/c, 1 more later`,
  ]);
  expect(describeVisits({ agents }, NO_AGEING, NOW)).toEqual([]);
});
