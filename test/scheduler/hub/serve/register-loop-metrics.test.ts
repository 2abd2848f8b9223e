import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerLoopMetrics } from '../../../../scheduler/hub/serve/register-loop-metrics.ts';
import type { WatchCounters } from '../../../../scheduler/hub/watch/watch-platform.ts';

test('the metrics read the counters of the loop at scrape time', async () => {
  const registry = new Registry();
  let counters: WatchCounters = {
    builds: 0,
    failures: 0,
    published: 0,
    lastBuildSeconds: undefined,
    lastSuccessAt: undefined,
    heldAssignments: {},
    waitingChannels: {},
  };
  registerLoopMetrics(registry, { counters: () => counters, trouble: () => undefined });
  expect(await registry.metrics()).toContain('fleet_loop_total{what="built"} 0');
  counters = {
    builds: 3,
    failures: 1,
    published: 2,
    lastBuildSeconds: 1.5,
    lastSuccessAt: new Date('2026-11-21T08:00:00Z'),
    heldAssignments: { prod: 2 },
    waitingChannels: { prod: 1 },
  };
  await registry.metrics();
  const lines = (await registry.metrics()).split('\n');
  for (const line of [
    'fleet_loop_total{what="built"} 3',
    'fleet_loop_total{what="failed"} 1',
    'fleet_loop_total{what="published"} 2',
    'fleet_last_build_seconds 1.5',
    'fleet_last_success_timestamp_seconds 1795248000',
    'fleet_held_assignments{environment="prod"} 2',
    'fleet_waiting_channels{environment="prod"} 1',
  ])
    expect(lines).toContain(line);
});
