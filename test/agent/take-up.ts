import type { Registry } from '#bundles/transport/registry/registry';
import { pollRegistry } from '../../agent/acquire/poll-registry.ts';
import { pullRelease } from '../../agent/acquire/pull-release.ts';
import type { Agent } from '../../agent/store/agent.ts';
import { lookAround } from '../../agent/daemon/look-around.ts';

/** What a daemon does with news, without its timers: a look first, as after each start; then poll, pull, look. */
export const takeUp = async (agent: Agent, registry: Registry): Promise<void> => {
  await lookAround(agent);
  const seen = await pollRegistry(agent, registry, true);
  if (!seen.news) return;
  await pullRelease(agent, registry, seen, (work) => work());
  await lookAround(agent);
};
