import { toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { pollRegistry } from '../acquire/poll-registry.ts';
import { type RunExclusively, pullRelease } from '../acquire/pull-release.ts';
import type { Config } from '../config/config.ts';
import { registryOf } from '../config/registry-of.ts';
import { readNote, writeNote } from '../observe/note.ts';
import type { Agent } from '../store/agent.ts';

/** The answer of the registry to a command that asks it once. */
export type AskedRegistry = {
  readonly address: string;
  /** The release that was accepted now; undefined if the registry had nothing new. */
  readonly accepted?: number | undefined;
  /** Why the registry could not be asked, or why its offer was refused. */
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
};

/** A command waits for people, so that a registry out of reach costs seconds. */
const PERSISTENCE = { tries: 2, patience: { headers: 15_000 } };

/**
 * Asks the configured registry once and accepts its news, as the daemon does at every poll. A registry that does not answer is a
 * result. @returns undefined without a registry @throws FleetError ABORTED, USAGE, CONFIG_INVALID
 */
export const askRegistry = async (
  agent: Agent,
  config: Config,
  env: NodeJS.ProcessEnv,
  exclusively: RunExclusively,
): Promise<AskedRegistry | undefined> => {
  await using registry = registryOf(config, env, PERSISTENCE);
  if (!registry) return undefined;
  const address = config.registry;
  try {
    const seen = await pollRegistry(agent, registry, config.hub === '');
    const pulled = seen.news ? await pullRelease(agent, registry, seen, exclusively) : undefined;
    noteAnswer(agent);
    return { address, accepted: pulled?.news === 'newer' ? pulled.release?.version : undefined };
  } catch (cause) {
    const { code, message, retryable } = toFleetError(cause);
    if (code === 'ABORTED' || agent.signal.aborted) throw cause;
    return { address, error: { code, message, retryable } };
  }
};

/** For `status`, which otherwise has the daemon's last poll. */
const noteAnswer = ({ state, edge }: Agent): void => {
  const note = readNote(state.directory);
  const registry = { ...note.registry, good: formatTime(edge.now()), failing: null };
  writeNote(state.directory, { ...note, registry });
};
