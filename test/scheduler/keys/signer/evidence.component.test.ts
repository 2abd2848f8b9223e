import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf, type Digest } from '#bundles/digest';
import { type Event, encodeEvent, GENESIS, hashLine } from '#bundles/formats/events/event';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { formatTime } from '#bundles/time';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { type SignedReport, signReport } from '#bundles/trust/reports/report';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { PREDICATES } from '#bundles/media-types';
import { parseChain, withEvidence } from '../../../../scheduler/keys/signer/chain.ts';
import { refusalOf } from '../../../bundles/refusal.ts';
import { makeOffice } from '../../release/removals/office.ts';
import { HOUR_MS, type Hub, openHub, S1 } from './chain-hub.ts';
import { BUNDLE, NOW, sitePayload, toSign } from './signer-world.ts';

const CHAIN = withEvidence(parseChain(['prod=qa']), ['prod=50%:12h']);
const PACKAGE = digestOf('a package');
const OTHER = digestOf('another package');

/** An agent that writes events and signs reports of them. */
const newAgent = (site: string) => {
  const key = loadSigningKey(generatePrivateKey());
  const lines: string[] = [];
  const id = `${site}/press-1`;
  const write = (type: string, more: Partial<Event> = {}): void => {
    const prev = lines.length === 0 ? GENESIS : hashLine(lines.at(-1) ?? '');
    lines.push(
      encodeEvent({
        agent: id,
        seq: lines.length + 1,
        prev,
        bootId: 'boot',
        at: formatTime(NOW),
        monotonicMs: lines.length,
        type,
        ...more,
      }),
    );
  };
  return {
    id,
    site,
    key,
    write,
    imports: (version: number) =>
      write('imported', { release: { environment: 'qa', clusterType: 'kiosk', version } }),
    runs: (digest: Digest, outcome: Event['outcome'] = 'configured') =>
      write('package', { assignment: 'oven', package: digest, outcome }),
    count: () => lines.length,
    enrolled: () => ({
      name: 'press-1',
      key: key.public.pem,
      channel: { environment: 'qa', clusterType: 'kiosk' },
      previousChannel: null,
      labels: {},
      freshness: { mode: 'release' as const },
    }),
    /** Events `from` to `to`, from 1. */
    report: ({ from = 1, to = lines.length, at = NOW, by = key } = {}): Promise<SignedReport> => {
      const part = lines.slice(from - 1, to);
      const before = lines[from - 2];
      return signReport(
        Buffer.from(part.map((line) => `${line}\n`).join('')),
        {
          fleet: 'acme',
          agent: id,
          from,
          to,
          firstPrev: before === undefined ? GENESIS : hashLine(before),
          lastHash: hashLine(part.at(-1) ?? ''),
          bootId: 'boot',
          time: formatTime(at),
          clockTrusted: true,
          floors: { root: 1, site: 1, release: 1, lease: 0, time: formatTime(NOW) },
          holds: [],
        },
        by,
      );
    },
  };
};
type Agent = ReturnType<typeof newAgent>;

/** An agent of site a that imported release 1 and runs its package. */
const complyingAgent = (): Agent => {
  const agent = newAgent('a');
  agent.imports(1);
  agent.runs(PACKAGE);
  return agent;
};

/** The signer signs the site statements of the agents, and release 1 of qa with the candidate. */
const openWith = async (agents: readonly Agent[], chain = CHAIN): Promise<Hub> => {
  const hub = await openHub(chain);
  for (const { site, enrolled } of agents)
    await hub.signer.sign(
      'release',
      toSign(
        sitePayload(1, {
          audience: { fleet: 'acme', site },
          agents: [enrolled()],
        }),
      ),
      [],
    );
  await hub.release('qa', { shared: S1 });
  hub.state.commit(() => hub.state.evidence.addPackages(BUNDLE, { oven: PACKAGE }));
  return hub;
};

const show = async (hub: Hub, ...reports: readonly Promise<SignedReport>[]): Promise<number> =>
  hub.signer.show({ reports: await Promise.all(reports), documents: [] });

test("a promotion is signed once enough agents' own reports show that they comply", async () => {
  const agents = [newAgent('a'), newAgent('b'), newAgent('c'), newAgent('d')] as const;
  await using hub = await openWith(agents);
  for (const agent of agents) agent.imports(1);
  const [a, b] = agents;
  a.runs(PACKAGE);
  await show(hub, a.report());
  await expect(hub.promote()).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: expect.stringMatching(/1 of 4 agents of qa show .*, 2 must: b\/press-1 showed no report, /),
  });
  // The import alone says nothing about what runs: health that is read too early does not count.
  await show(hub, b.report());
  await expect(hub.promote()).rejects.toMatchObject({
    message: expect.stringContaining('b/press-1 does not run oven of this candidate'),
  });
  b.runs(PACKAGE);
  expect(await show(hub, b.report({ from: 2 }))).toBe(1);
  expect(hub.signer.heads().map(({ agent, seq }) => [agent, seq])).toEqual([
    ['a/press-1', 2],
    ['b/press-1', 2],
  ]);
  expect(await hub.promote()).toBeInstanceOf(Buffer);
});

test.each([
  ['failed', (agent: Agent) => agent.runs(PACKAGE, 'failed'), 'failed or could not check oven'],
  ['drifted', (agent: Agent) => agent.write('drift', { assignment: 'oven' }), 'has drift in oven'],
  ['runs another package', (agent: Agent) => agent.runs(OTHER), 'does not run oven of this candidate'],
  ['imported another release', (agent: Agent) => agent.imports(2), 'which is not of this candidate'],
  [
    'runs what is no longer wanted',
    (agent: Agent) => agent.write('package', { assignment: 'till', package: OTHER, outcome: 'created' }),
    'still runs till',
  ],
])('an agent that %s does not count', async (_, change, why) => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  change(agent);
  await show(hub, agent.report());
  await expect(hub.promote()).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: expect.stringContaining(why),
  });
});

test('an agent counts for a candidate that restates the bundle it runs, without a new release', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  await show(hub, agent.report());
  const other = digestOf('another shared');
  await expect(hub.promote({ shared: other })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  expect(await hub.restate('qa', { shared: other })).toBe(1);
  hub.later(48);
  await show(hub, agent.report({ at: new Date(NOW.getTime() + 48 * HOUR_MS) }));
  expect(await hub.promote({ shared: other })).toBeInstanceOf(Buffer);
});

test('an agent does not count with a release that holds an assignment', async () => {
  const agent = newAgent('a');
  await using hub = await openWith([agent]);
  const held = [{ assignment: 'till', code: 'IMAGE_MISSING', message: 'no registry answers' }];
  await hub.release('qa', { shared: S1, held });
  agent.imports(2);
  agent.runs(PACKAGE);
  await show(hub, agent.report());
  await expect(hub.promote()).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: expect.stringContaining('which is not of this candidate'),
  });
});

test('H29: made-up evidence: a report by a key that no site statement names is refused', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  const mallory = newAgent('a');
  await expect(show(hub, agent.report({ by: mallory.key }))).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
  await expect(hub.promote()).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
});

test('H29: events that were changed after the agent signed them are refused', async () => {
  const agent = newAgent('a');
  await using hub = await openWith([agent]);
  agent.imports(1);
  agent.runs(PACKAGE, 'failed');
  const { statement, events } = await agent.report();
  const changed = Buffer.from(events.toString().replace('"failed"', '"configured"'));
  await expect(
    hub.signer.show({ reports: [{ statement, events: changed }], documents: [] }),
  ).rejects.toMatchObject({ code: 'REPORT_INVALID' });
});

test('H29: an agent that was never enrolled is refused', async () => {
  await using hub = await openWith([newAgent('a')]);
  const stranger = newAgent('z');
  stranger.imports(1);
  await expect(show(hub, stranger.report())).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
});

test('H29: agents that were just enrolled do not comply before the soak time is over', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent], withEvidence(parseChain(['prod=qa:24h']), ['prod=1']));
  await show(hub, agent.report());
  hub.state.addReleased('qa', [S1], 0);
  hub.state.commit(() => hub.state.evidence.setAgents('a', [], 0));
  hub.later(24);
  const again = newAgent('a');
  hub.state.commit(() => hub.state.evidence.setAgents('a', [again.enrolled()], NOW.getTime() + HOUR_MS));
  again.imports(1);
  again.runs(PACKAGE);
  await show(hub, again.report());
  await expect(hub.promote()).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: expect.stringContaining('a/press-1 is enrolled for less than the soak time'),
  });
  hub.later(1);
  expect(await hub.promote()).toBeInstanceOf(Buffer);
});

test('H30: a replayed report: an older one does not take the place of a newer one', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  const good = await agent.report();
  agent.runs(PACKAGE, 'failed');
  await show(hub, agent.report());
  expect(await hub.signer.show({ reports: [good], documents: [] })).toBe(0);
  await expect(hub.promote()).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
});

test('H30: an old report: it is older than the link lets evidence be', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  await show(hub, agent.report());
  hub.later(13);
  await expect(hub.promote()).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  await show(hub, agent.report({ at: new Date(NOW.getTime() + 13 * HOUR_MS) }));
  expect(await hub.promote()).toBeInstanceOf(Buffer);
});

test('H30: a withheld report: what the signer acknowledged must be shown', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  await show(hub, agent.report());
  agent.runs(PACKAGE, 'failed');
  const receipt = {
    fleet: 'acme',
    agent: agent.id,
    from: 1,
    to: agent.count(),
    head: digestOf('head'),
    time: formatTime(NOW),
  };
  const subjects = [{ name: 'report', digest: digestOf('events') }];
  await hub.signer.sign('receipt', toSign(encodeStatement(subjects, PREDICATES.receipt, receipt)), []);
  await expect(hub.promote()).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: expect.stringContaining('reported events up to 3, and those after 2 were not shown'),
  });
});

test('after a gap in the events, nothing before it counts', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  await show(hub, agent.report());
  agent.runs(PACKAGE, 'failed');
  agent.write('imported', { release: { environment: 'qa', clusterType: 'kiosk', version: 1 } });
  await show(hub, agent.report({ from: 4 }));
  await expect(hub.promote()).rejects.toMatchObject({
    message: expect.stringContaining('does not run oven'),
  });
});

test('an agent with a new key starts without evidence, and one that left the site does not count', async () => {
  const [old, other] = [newAgent('a'), newAgent('b')];
  await using hub = await openWith([old, other]);
  old.imports(1);
  old.runs(PACKAGE);
  await show(hub, old.report());
  expect(hub.signer.heads()).toHaveLength(1);
  hub.state.commit(() => hub.state.evidence.setAgents('a', [], 0));
  expect(hub.signer.heads()).toEqual([]);
  await expect(hub.promote()).rejects.toMatchObject({ message: expect.stringContaining('0 of 1 agents') });
});

test('a candidate that was promoted before is promoted again without evidence, for a rollback', async () => {
  const agent = complyingAgent();
  await using hub = await openWith([agent]);
  await show(hub, agent.report());
  await hub.promote();
  agent.imports(2);
  await show(hub, agent.report());
  hub.state.commit(() => hub.state.addReleased('qa', [digestOf('shared 2')], 0));
  await expect(hub.promote({ shared: digestOf('shared 2') })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  expect(await hub.promote()).toBeInstanceOf(Buffer);
});

test('the packages of a bundle are read from its manifest and config', async () => {
  const office = await makeOffice();
  const { channels } = await office.build();
  const { blobs } = await openLayout(join(office.layout));
  const digest = channels[0]?.bundle ?? BUNDLE;
  const manifest = await readBlob(blobs, digest, 1 << 20);
  const { config } = parseImageManifest(manifest, 'the manifest');
  await using hub = await openHub(CHAIN);
  const documents = [await readBlob(blobs, config.digest, config.size), manifest];
  await hub.signer.show({ reports: [], documents });
  expect(Object.keys(hub.state.evidence.packages(digest) ?? {})).not.toEqual([]);
  await expect(hub.signer.show({ reports: [], documents: [manifest] })).rejects.toMatchObject({
    code: 'MISSING_BLOB',
  });
});

test('a signer without --evidence refuses reports, and --evidence must name a link of the chain', async () => {
  await using hub = await openHub(parseChain(['prod=qa']));
  await expect(hub.signer.show({ reports: [], documents: [] })).rejects.toMatchObject({ code: 'USAGE' });
  expect(() => hub.signer.heads()).toThrow(expect.objectContaining({ code: 'USAGE' }));
  expect(withEvidence(parseChain(['prod=qa']), ['prod=3'])).toMatchObject([
    { evidence: { share: { count: 3 }, freshMs: undefined } },
  ]);
  for (const word of ['prod', 'prod=0', 'prod=101%', 'qa=3', 'prod=95%:12'])
    expect(refusalOf(() => withEvidence(parseChain(['prod=qa']), [word])).code).toBe('USAGE');
});
