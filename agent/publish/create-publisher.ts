import { isFleetError } from '#bundles/errors';
import { type Config, intervalMs } from '../config/config.ts';
import type { AgentFacts, Happening } from '../model/agent-facts.ts';
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
  /** Writes the metrics file, and shows the state and what happened on the targets. Returns sentences for the log: why a part failed. */
  readonly publish: (signal: AbortSignal) => Promise<readonly string[]>;
};

/** Happenings that wait while the cluster does not answer; the oldest are dropped. */
const MAX_WAITING = 200;

/**
 * Creates the publisher for people at the site and their monitoring, and serves metrics if an address is configured.
 * @throws FleetError CONFIG_INVALID for a malformed address
 */
export const createPublisher = async (
  agent: Agent,
  config: Config,
  version: string,
): Promise<Publisher & AsyncDisposable> => {
  const stack = new AsyncDisposableStack();
  const { state, targets } = agent;
  /** False on a host without a target that shows happenings: none are read there. */
  const isShown = targets.some(({ show }) => show !== undefined);
  const facts = () => agentFacts(readStatus(agent, config), version);
  // Loaded only where it is configured: most agents have no use for it.
  const textOf = async (now: AgentFacts): Promise<string> => {
    const { metricsText } = await import('./metrics.ts');
    return metricsText(now, intervalMs(config));
  };
  let isServed = config.metricsAddress === '';
  /** Serves the metrics once the address is free: one that is taken must not stop the agent. */
  const serve = async (): Promise<readonly string[]> => {
    if (isServed) return [];
    try {
      stack.use(await serveMetrics(config.metricsAddress, async () => textOf(facts())));
      isServed = true;
      return [];
    } catch (error) {
      if (!isFleetError(error, 'IO')) throw error;
      return [`${error.message}; it is tried again each minute`];
    }
  };
  // At once, and not after the first look. If it fails, the first publication returns the reason.
  await serve();
  let seen = lastEvent(state);
  let waiting: readonly Happening[] = [];
  const collect = (): void => {
    if (!isShown) return;
    const { happenings, last } = readHappenings(state, seen);
    seen = last;
    waiting = [...waiting, ...happenings].slice(-MAX_WAITING);
  };
  return {
    collect: () => {
      try {
        collect();
      } catch {
        // A failure to collect must not stop the work of the agent that called this. `publish` collects again, and throws.
      }
    },
    publish: async (signal) => {
      collect();
      const said: string[] = [...(await serve())];
      if (!isShown && config.metricsFile === '') return said;
      const now = facts();
      if (config.metricsFile !== '') {
        await writeMetricsFile(config.metricsFile, await textOf(now)).catch((error: unknown) =>
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
