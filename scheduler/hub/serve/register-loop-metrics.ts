import { Counter, Gauge, type Registry } from 'prom-client';
import type { Watch } from '../watch/watch-platform.ts';

/** Registers the metrics of the build loop. Disposal removes them: a replica that leads no more has no loop. */
export const registerLoopMetrics = (
  registry: Registry,
  watch: Pick<Watch, 'counters' | 'trouble'>,
): Disposable => {
  const registers = [registry];
  const rounds = new Counter({
    name: 'fleet_loop_total',
    help: 'What the loop that builds and publishes has done: builds, publications, and steps that failed',
    labelNames: ['what'],
    registers,
    collect: () => {
      const { builds, published, failures } = watch.counters();
      rounds.reset();
      rounds.inc({ what: 'built' }, builds);
      rounds.inc({ what: 'published' }, published);
      rounds.inc({ what: 'failed' }, failures);
    },
  });
  const seconds = new Gauge({
    name: 'fleet_last_build_seconds',
    help: 'How long the last build took',
    registers,
    collect: () => {
      const { lastBuildSeconds } = watch.counters();
      if (lastBuildSeconds !== undefined) seconds.set(lastBuildSeconds);
    },
  });
  const success = new Gauge({
    name: 'fleet_last_success_timestamp_seconds',
    help: 'When everything was last built and published as the repositories say',
    registers,
    collect: () => {
      const { lastSuccessAt } = watch.counters();
      if (lastSuccessAt !== undefined) success.set(Math.floor(lastSuccessAt.getTime() / 1000));
    },
  });
  const held = new Gauge({
    name: 'fleet_held_assignments',
    help: 'Assignments and applications that the last build held back',
    labelNames: ['environment'],
    registers,
    collect: () => {
      held.reset();
      for (const [environment, count] of Object.entries(watch.counters().heldAssignments))
        held.set({ environment }, count);
    },
  });
  const waiting = new Gauge({
    name: 'fleet_waiting_channels',
    help: 'Channels that the last build did not release, for it would have removed packages that nobody deleted',
    labelNames: ['environment'],
    registers,
    collect: () => {
      waiting.reset();
      for (const [environment, count] of Object.entries(watch.counters().waitingChannels))
        waiting.set({ environment }, count);
    },
  });
  return {
    [Symbol.dispose]: () => {
      for (const name of NAMES) registry.removeSingleMetric(name);
    },
  };
};

const NAMES = [
  'fleet_loop_total',
  'fleet_last_build_seconds',
  'fleet_last_success_timestamp_seconds',
  'fleet_held_assignments',
  'fleet_waiting_channels',
];
