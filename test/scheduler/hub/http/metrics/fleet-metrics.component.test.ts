import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createAlarm } from '../../../../../scheduler/hub/alarms/alarm.ts';
import { keepAlarms } from '../../../../../scheduler/hub/alarms/keep-alarms.ts';
import { registerFleetMetrics } from '../../../../../scheduler/hub/http/metrics/fleet-metrics.ts';
import { recordLinkStates } from '../../../../../scheduler/hub/questions/state/link-states.ts';
import { applied, days, PROD, shop } from '../../questions/history/shop-hub.ts';
import { chain, enrolled, NOW, report, type TestHub } from '../../test-hub.ts';

/** Lines of the exposition without comments, by metric. */
const scrape = async (hub: TestHub, most?: number) => {
  const registry = new Registry();
  registerFleetMetrics(registry, { hub, countMs: 0, ...(most !== undefined && { most }) });
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return (metric: string) => lines.filter((line) => line.startsWith(`${metric}{`));
};

test('fleet_deployments has labels for environment, workload, version and state', async () => {
  await using hub = await shop();
  const stick = await hub.stick('more');
  const failing = await enrolled(hub, 'plant-8/press-1', PROD);
  const failed = { type: 'check', assignment: 'web', outcome: 'failed', code: 'CHECK_FAILED' } as const;
  await report(stick, failing, chain(failing, [applied('web', hub.prodSecond, days(-2)), failed]));
  await hub.importFrom(stick);
  const of = await scrape(hub);
  expect(of('fleet_deployments').toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'fleet_deployments{environment="prod",workload="web",version="1.0",state="failed"} 1',
    'fleet_deployments{environment="prod",workload="web",version="1.0",state="healthy"} 1',
    'fleet_deployments{environment="qa",workload="web",version="2.0",state="healthy"} 1',
  ]);
  expect(of('fleet_site_assignments')).toEqual([
    'fleet_site_assignments{environment="prod",site="plant-8",state="failed"} 1',
  ]);
  expect(of('fleet_site_said_timestamp_seconds')).toHaveLength(3);
});

test('deployments above the limit are added up as "other", failing ones last', async () => {
  await using hub = await shop();
  const of = await scrape(hub, 1);
  expect(of('fleet_deployments')).toEqual([
    'fleet_deployments{environment="prod",workload="web",version="1.0",state="healthy"} 1',
    'fleet_deployments{environment="qa",workload="other",version="other",state="healthy"} 1',
  ]);
  expect(of('fleet_series_beyond_limit')).toContain(
    'fleet_series_beyond_limit{metric="fleet_deployments"} 1',
  );
  expect(of('fleet_site_said_timestamp_seconds').at(-1)).toContain('site="other"');
});

test('fleet_alarms and gates are counted by kind and state', async () => {
  await using hub = await shop();
  const since = '2026-11-20T08:00:00Z';
  await keepAlarms(
    hub.store,
    [
      createAlarm('PACKAGE_FAILED', 'critical', { agent: 'a', environment: 'prod' }, since, 'a'),
      createAlarm('PACKAGE_FAILED', 'critical', { agent: 'b', environment: 'prod' }, since, 'b'),
      createAlarm('ROOT_ENDS', 'warning', {}, since, 'root'),
    ],
    { now: NOW },
  );
  const link = {
    from: 'qa',
    to: 'prod',
    mode: 'manual',
    state: 'ready',
    candidate: null,
    waitsFor: null,
    unmet: [],
    why: null,
  };
  await recordLinkStates(hub.store, [link], since);
  const of = await scrape(hub);
  expect(of('fleet_open_alarms')).toEqual([
    'fleet_open_alarms{kind="PACKAGE_FAILED",severity="critical",environment="prod"} 2',
    'fleet_open_alarms{kind="ROOT_ENDS",severity="warning",environment=""} 1',
  ]);
  expect(of('fleet_gate_since_timestamp_seconds')).toEqual([
    `fleet_gate_since_timestamp_seconds{from="qa",to="prod",state="ready"} ${Date.parse(since) / 1000}`,
  ]);
});
