import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ALARMS } from '../../../scheduler/hub/alarms/alarm.ts';
import { registerFleetMetrics } from '../../../scheduler/hub/http/metrics/fleet-metrics.ts';
import { createMetrics } from '../../../scheduler/hub/http/metrics/metrics.ts';
import { exposeLeadership } from '../../../scheduler/hub/serve/lead.ts';
import { registerLoopMetrics } from '../../../scheduler/hub/serve/register-loop-metrics.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { shop } from '../../scheduler/hub/questions/history/shop-hub.ts';
import { NOW, type TestHub } from '../../scheduler/hub/test-hub.ts';

const FOLDER = join(import.meta.dirname, '../../../deploy/monitoring');
const RULES = join(FOLDER, 'fleet-ferry.rules.yaml');

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
};
type Dashboard = {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly Panel[];
};
type Rules = { readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[] };

const dashboards = readdirSync(FOLDER)
  .filter((file) => file.startsWith('dashboard-'))
  .map((file) => ({ file, dashboard: JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Dashboard }));

const rules = (parse(readFileSync(RULES, 'utf8')) as Rules).groups.flatMap((group) => group.rules);

/** An expression with what Grafana puts in place of its variables. */
const withoutVariables = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$[a-z]+/g, 'any');

const expressions = dashboards.flatMap(({ file, dashboard }) => [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, refId }) => ({ where: `${file}: ${title} ${refId}`, expr: withoutVariables(expr) })),
  ),
  ...dashboard.templating.list.flatMap(({ name, definition }) => {
    const inner = /^label_values\((.+), [a-z]+\)$/.exec(definition ?? '')?.[1];
    return inner === undefined ? [] : [{ where: `${file}: $${name}`, expr: withoutVariables(inner) }];
  }),
]);

let hub: TestHub;
let folder: TemporaryDirectory;
let metrics: string;
beforeAll(async () => {
  hub = await shop();
  folder = await temporaryDirectory('monitoring');
  // Everything that serve registers.
  const { registry } = createMetrics(hub.store.db, () => NOW);
  registerFleetMetrics(registry, { hub });
  exposeLeadership(registry, { name: 'hub-1', isLeading: () => true });
  registerLoopMetrics(registry, {
    counters: () => ({
      builds: 1,
      published: 1,
      failures: 0,
      lastBuildSeconds: 1,
      lastSuccessAt: NOW,
      heldAssignments: { qa: 1 },
      waitingChannels: {},
    }),
    trouble: () => undefined,
  });
  metrics = await registry.metrics();
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

describe('dashboards and rules', () => {
  it('use only metrics that the hub serves', () => {
    const served = new Set([...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name ?? ''));
    served.add('up');
    const used = [...expressions.map(({ expr }) => expr), ...rules.map(({ expr }) => expr)].flatMap((expr) =>
      [...expr.matchAll(/\b(?:fleet|process|nodejs)_[a-z_]+|\bup\b/g)].map(([name]) =>
        name.replace(/_bucket$/, ''),
      ),
    );
    expect(used.length).toBeGreaterThan(40);
    expect(used.filter((name) => !served.has(name))).toEqual([]);
  });

  it.each(dashboards)(
    '$file has panels with title, description and query that do not overlap',
    ({ dashboard }) => {
      const { panels } = dashboard;
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      for (const panel of panels.filter(({ type }) => type !== 'row')) {
        expect(panel.title).not.toBe('');
        expect(panel.description).toMatch(/\S/);
        expect(panel.targets?.length).toBeGreaterThan(0);
        // A data source by name would tie the dashboard to one Grafana.
        // oxlint-disable-next-line no-template-curly-in-string
        expect(panel.datasource?.uid).toBe('${datasource}');
      }
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    },
  );

  it('use only alarms that exist', () => {
    const kinds = [
      ...readFileSync(join(FOLDER, 'fleet-ferry.rules.test.yaml'), 'utf8').matchAll(/kind="([A-Z_]+)"/g),
    ];
    expect(kinds.length).toBeGreaterThan(0);
    expect(kinds.filter(([, kind = '']) => !(kind in ALARMS))).toEqual([]);
  });
});

describeWith(['grafanaSchema'], "Grafana's schema of dashboards", ({ grafanaSchema }) => {
  it('accepts the dashboards, and names a missing or misspelled field', async () => {
    const check = (...files: readonly string[]) => runCommand([grafanaSchema, ...files]);
    const { code, stdout } = await check(...dashboards.map(({ file }) => join(FOLDER, file)));
    expect([code, stdout]).toEqual([0, '']);
    const text = readFileSync(join(FOLDER, dashboards[0]?.file ?? ''), 'utf8');
    const broken = join(folder.path, 'broken.json');
    await writeFile(broken, text.replace('"includeVars"', '"includeVariables"'));
    expect((await check(broken)).stdout).toMatch(/includeVars: required field is missing/);
  });
});

describeWith(['promtool'], 'promtool', ({ promtool }) => {
  it('accepts the rules', async () => {
    const { stdout } = await runOrFail([promtool, 'check', 'rules', '--lint-fatal', RULES]);
    expect(stdout).toContain('10 rules found');
  });

  it('runs the unit tests of the rules, and each rule has one', async () => {
    const tests = join(FOLDER, 'fleet-ferry.rules.test.yaml');
    await runOrFail([promtool, 'test', 'rules', tests]);
    const text = readFileSync(tests, 'utf8');
    expect(rules.map(({ alert }) => alert).filter((alert) => !text.includes(`alertname: ${alert}`))).toEqual(
      [],
    );
  });

  it('finds a mistake in the rules by their unit tests', async () => {
    const broken = readFileSync(RULES, 'utf8').replace('== 0', '== 1');
    await writeFile(join(folder.path, 'fleet-ferry.rules.yaml'), broken);
    const tests = readFileSync(join(FOLDER, 'fleet-ferry.rules.test.yaml'));
    await writeFile(join(folder.path, 'tests.yaml'), tests);
    const { code } = await runCommand([promtool, 'test', 'rules', join(folder.path, 'tests.yaml')]);
    expect(code).not.toBe(0);
  });

  it('parses every expression of the dashboards', async () => {
    const file = join(folder.path, 'dashboards.rules.json');
    const asRules = expressions.map(({ where, expr }, at) => ({
      record: `panel:expression:${at}`.replaceAll(/[^a-z0-9:_]/g, '_'),
      expr,
      labels: { where },
    }));
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboards', rules: asRules }] }));
    const { stdout } = await runOrFail([promtool, 'check', 'rules', file]);
    expect(stdout).toContain(`${expressions.length} rules found`);
  });

  it('accepts the scrape configuration', async () => {
    const config = readFileSync(join(FOLDER, 'prometheus.yaml'), 'utf8')
      .replaceAll('/etc/prometheus/', `${folder.path}/`)
      .replace('fleet-ferry.rules.yaml', RULES);
    await writeFile(join(folder.path, 'fleet-token'), 'token');
    await writeFile(join(folder.path, 'fleet-authority.pem'), hub.keys.root.agentCertificates.join(''));
    await writeFile(join(folder.path, 'prometheus.yml'), config);
    await runOrFail([promtool, 'check', 'config', join(folder.path, 'prometheus.yml')]);
  });

  it('accepts the metrics of the hub', async () => {
    // Names of the metrics about Node are prom-client's.
    const own = metrics
      .split('\n')
      .filter((line) => /^(?:# (?:HELP|TYPE) )?fleet_/.test(line))
      .join('\n');
    const { code, stdout, stderr } = await runCommand([promtool, 'check', 'metrics'], { input: `${own}\n` });
    expect([code, stdout + stderr]).toEqual([0, '']);
  });
});
