import { isFleetError } from '#bundles/errors';
import { type Config, intervalMs } from '../config/config.ts';
import type { Happening } from '../model/agent-facts.ts';
import { agentFacts } from '../observe/agent-facts.ts';
import { readStatus } from '../observe/read-status.ts';
import type { Agent } from '../store/agent.ts';
import { lastEvent } from '../store/outbox/outbox.ts';
import { readHappenings } from './happenings.ts';
import { serveMetrics } from './serve-metrics.ts';
import { writeMetricsFile } from './write-metrics-file.ts';

export type Publisher = {
  /** Remembers what happened, before the hub acknowledges it and the agent forgets it. */
  readonly collect: () => void;
  /** Shows the present where the configuration wants it. Returns what prevents a part of it: sentences for the log. */
  readonly publish: (signal: AbortSignal) => Promise<readonly string[]>;
};

/** Happenings that wait while the cluster does not answer; the oldest are dropped. */
const MAX_WAITING = 200;

/** Builds what shows the agent to people at the site and to their monitoring. @throws FleetError CONFIG_INVALID for a malformed address */
export const createPublisher = async (
  agent: Agent,
  config: Config,
  version: string,
): Promise<Publisher & AsyncDisposable> => {
  const stack = new AsyncDisposableStack();
  const { state, targets } = agent;
  const facts = () => agentFacts(readStatus(agent, config), version);
  // Loaded only where it is configured: most agents have no use for it.
  const text = async (): Promise<string> => {
    const { metricsText } = await import('./metrics.ts');
    return metricsText(facts(), intervalMs(config));
  };
  let isServed = config.metricsAddress === '';
  /** Serves the metrics once the address is free: one that is taken must not stop the agent. */
  const serve = async (): Promise<readonly string[]> => {
    if (isServed) return [];
    try {
      stack.use(await serveMetrics(config.metricsAddress, text));
      isServed = true;
      return [];
    } catch (error) {
      if (!isFleetError(error, 'IO')) throw error;
      return [`${error.message}; it is tried again each minute`];
    }
  };
  // At once, and not after the first look. What prevents it is said at the first publication.
  await serve();
  let seen = lastEvent(state);
  let waiting: readonly Happening[] = [];
  const collect = (): void => {
    const { happenings, last } = readHappenings(state, seen);
    seen = last;
    waiting = [...waiting, ...happenings].slice(-MAX_WAITING);
  };
  return {
    collect: () => {
      try {
        collect();
      } catch {
        // Called in the middle of the agent's work, which nothing shown may stop. `publish` collects again, and throws.
      }
    },
    publish: async (signal) => {
      collect();
      const now = facts();
      const said: string[] = [...(await serve())];
      if (config.metricsFile !== '') {
        await writeMetricsFile(config.metricsFile, await text()).catch((error: unknown) =>
          said.push(`the metrics file ${config.metricsFile} cannot be written: ${String(error)}`),
        );
      }
      const taken = waiting;
      for (const { show } of targets)
        said.push(...((await show?.(now, taken, agent.edge.now(), signal)) ?? []));
      waiting = waiting.filter((one) => !taken.includes(one));
      return said;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};
