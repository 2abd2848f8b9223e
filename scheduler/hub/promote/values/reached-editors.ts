import type { Hub } from '../../hub.ts';
import { channelsOf } from '../../sites/agent-record.ts';
import type { KnownNeeds } from '../../sites/read-needs.ts';
import { readChannelLayers } from '../../sites/read-channel-layers.ts';
import { type Editors, editorsOf } from './rules-for.ts';
import { toValuesAgent, type ValuesAgent } from './values-access.ts';

/** A value that is to change, the agents that it reaches, and the `editableBy` under which somebody may change it. */
export type ReachedEditors = Pick<Editors, 'place' | 'roles'> & { readonly agents: readonly ValuesAgent[] };

/**
 * Finds the editors of several sets of changes. The layers of their channels are read once.
 * @param known site inputs of channels, read for other changes
 * @returns for each set the editors of its values
 */
export const reachedEditors = async (
  hub: Hub,
  sets: readonly (readonly Editors['place'][])[],
  known: KnownNeeds = new Map(),
): Promise<readonly (readonly ReachedEditors[])[]> => {
  const found: (readonly Editors[])[] = [];
  for (const changes of sets) found.push(await editorsOf(hub, changes, known));
  const rows = found.flat().flatMap(({ agents }) => agents);
  const { layers } = await readChannelLayers(hub, channelsOf(rows));
  return found.map((editors) =>
    editors.map(({ place, roles, agents }) => ({
      place,
      roles,
      agents: agents.map((row) => toValuesAgent(row, layers)),
    })),
  );
};
