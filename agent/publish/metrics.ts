import { Gauge, Registry } from 'prom-client';
import type { AgentFacts, ContactFacts } from '../model/agent-facts.ts';

/** The facts in the text format of Prometheus. A metric without a value is left out. @param everyMs the longest time between two looks */
export const metricsText = async (facts: AgentFacts, everyMs: number): Promise<string> => {
  const registry = new Registry();
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name: `fleet_agent_${name}`, help, labelNames: [...labelNames], registers: [registry] });
  const { fleet, agent, channel, version, packages, release, lookedAt, outbox, verdict, waitsFor } = facts;
  gauge('info', 'The agent and its version', ['fleet', 'agent', 'channel', 'version']).set(
    { fleet, agent, channel: channel ?? '', version },
    1,
  );
  gauge('ready', '1 if all packages run as the release wants them, and were looked at').set(
    verdict === 'Ready' ? 1 : 0,
  );
  const byStatus = gauge('packages', 'Packages by status', ['status']);
  for (const [status, some] of Map.groupBy(packages, (one) => one.status))
    byStatus.set({ status }, some.length);
  const healthy = gauge('package_healthy', '1 if the package is healthy', ['package']);
  const drift = gauge('package_drift_objects', 'Objects that differ from the package', ['package']);
  for (const one of packages) {
    healthy.set({ package: one.name }, one.status === 'healthy' ? 1 : 0);
    drift.set({ package: one.name }, one.drift);
  }
  if (release) {
    gauge('release_version', 'Version of the newest accepted release').set(release.version);
    gauge('release_expires_timestamp_seconds', 'End of that release, or of its lease').set(
      seconds(release.expires),
    );
    gauge('release_stale', '1 if no statement proves any more that the release is the newest').set(
      release.stale ? 1 : 0,
    );
  }
  if (lookedAt !== null)
    gauge('last_look_timestamp_seconds', 'Last comparison of live state with the packages').set(
      seconds(lookedAt),
    );
  gauge('look_interval_seconds', 'The longest time between two such comparisons, as configured').set(
    everyMs / 1000,
  );
  gauge('outbox_events', 'Events that the hub has not acknowledged').set(outbox.events);
  gauge('outbox_bytes', 'Size of these events').set(outbox.bytes);
  gauge('waits', 'Number of things that the agent waits for').set(waitsFor.length);
  const contacts = [
    ['hub', facts.hub],
    ['registry', facts.registry],
  ] as const;
  const last = gauge('contact_timestamp_seconds', 'Last answer of the hub or registry', ['of']);
  const failing = gauge('contact_failing', '1 while requests to the hub or registry fail', ['of']);
  for (const [of, contact] of contacts) setContact(of, contact, { last, failing });
  return registry.metrics();
};

const setContact = (
  of: string,
  contact: ContactFacts | null,
  { last, failing }: { readonly last: Gauge; readonly failing: Gauge },
): void => {
  if (!contact) return;
  if (contact.last !== null) last.set({ of }, seconds(contact.last));
  failing.set({ of }, contact.failing ? 1 : 0);
};

const seconds = (at: string): number => Date.parse(at) / 1000;
