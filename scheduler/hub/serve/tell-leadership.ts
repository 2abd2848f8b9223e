import { Gauge, type Registry } from 'prom-client';
import type { Leadership } from './lead.ts';

/** Registers the metric that says whether this replica leads. */
export const tellLeadership = (
  registry: Registry,
  { name, isLeading }: Pick<Leadership, 'name' | 'isLeading'>,
): void => {
  const leads: Gauge<'replica'> = new Gauge({
    name: 'fleet_hub_leads',
    help: 'Whether this replica builds, publishes and promotes: 1 at the one that leads, 0 at the others',
    labelNames: ['replica'],
    registers: [registry],
    collect: (): void => leads.set({ replica: name }, isLeading() ? 1 : 0),
  });
};
