import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { AgentFacts } from '../../../agent/model/agent-facts.ts';
import { metricsText } from '../../../agent/publish/metrics.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';

const FOLDER = join(import.meta.dirname, '../../../deploy/monitoring');
const RULES = join(FOLDER, 'fleet-ferry-agent.rules.yaml');
const TESTS = join(FOLDER, 'fleet-ferry-agent.rules.test.yaml');

const FACTS: AgentFacts = {
  fleet: 'halden',
  agent: 'plant-7/line-1',
  version: '1.2.3',
  channel: 'prod/edge',
  release: { version: 7, expires: '2027-04-30T00:00:00Z', stale: false },
  packages: [
    {
      name: 'a "quoted"\\name',
      status: 'healthy',
      since: '2026-11-21T08:00:00Z',
      package: 'sha256:0123',
      release: 7,
      wanted: null,
      drift: 0,
      message: null,
    },
  ],
  lookedAt: '2026-11-21T08:00:00Z',
  outbox: { events: 3, bytes: 900 },
  hub: {
    last: '2026-11-21T08:00:00Z',
    failing: { since: '2026-11-21T08:00:00Z', code: 'HUB_UNREACHABLE' },
  },
  registry: null,
  verdict: 'Ready',
  waitsFor: [],
};

describeWith(['promtool'], 'promtool', ({ promtool }) => {
  it('accepts the metrics of the agent', async () => {
    const { code, stdout, stderr } = await runCommand([promtool, 'check', 'metrics'], {
      input: await metricsText(FACTS, 300_000),
    });
    expect([code, stdout + stderr]).toEqual([0, '']);
  });

  it('accepts the rules, whose metrics all exist, and runs their unit tests, one for each rule', async () => {
    succeed(await runCommand([promtool, 'check', 'rules', '--lint-fatal', RULES]));
    succeed(await runCommand([promtool, 'test', 'rules', TESTS]));
    const { groups } = parse(await readFile(RULES, 'utf8')) as {
      readonly groups: readonly {
        readonly rules: readonly { readonly alert: string; readonly expr: string }[];
      }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    const tests = await readFile(TESTS, 'utf8');
    expect(rules.filter(({ alert }) => !tests.includes(`alertname: ${alert}\n`))).toEqual([]);
    const text = await metricsText(FACTS, 300_000);
    const named = rules.flatMap(({ expr }) => expr.match(/fleet_agent_\w+/g) ?? []);
    expect(named.filter((name) => !text.includes(`# TYPE ${name} gauge`))).toEqual([]);
  });
});
