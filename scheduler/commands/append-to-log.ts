import { formatError } from '#bundles/errors';
import { appendChanges } from '../hub/changes/append-changes.ts';
import { noteUnfinishedWrites } from '../hub/changes/note-write.ts';
import type { Hub } from '../hub/hub.ts';

/** Longer than the hub's own writes take. A build holds the layout for minutes: then the hub or the next command appends. */
const WAIT_MS = 5_000;

/**
 * Moves what a command has changed to the audit log, with the entries of writes into a repository that were killed: a hub that serves may not exist.
 * @param command names the holder of the layout's lock for other processes
 * @returns lines for the person: empty, or why an entry waits in the database
 * @throws FleetError as appendChanges; the codes of the store
 */
export const appendToLog = async (hub: Hub, command: string, now: Date): Promise<readonly string[]> => {
  await noteUnfinishedWrites(hub.store, now);
  const { waiting } = await appendChanges(hub, { command, now, waitMs: WAIT_MS });
  if (waiting === undefined) return [];
  return waiting.code === 'AUDIT_TRUNCATED'
    ? [`${formatError(waiting)} Entries wait in the hub's database until then.`]
    : [
        `The change is done; its entry for the audit log waits in the hub's database: ${formatError(waiting)}. The hub, or the next command that changes something, appends it.`,
      ];
};
