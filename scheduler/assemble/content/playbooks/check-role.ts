import type { Content } from '../content.ts';
import { broken } from '../debs/read-ar.ts';
import { walkArchive } from '../walk-archive.ts';

/** Folders of a role (Ansible's "Role directory structure"): a role has at least one of them. */
const FOLDERS = new Set([
  'defaults',
  'files',
  'handlers',
  'library',
  'lookup_plugins',
  'meta',
  'module_utils',
  'tasks',
  'templates',
  'vars',
]);

/** Names for messages. */
const MAX_NAMES = 3;

/**
 * Checks that the archive of a role has one top folder, the role: the agent unpacks the content of that folder. Ansible does
 * not report an empty role.
 * @throws FleetError CONTENT_INVALID; DIGEST_MISMATCH
 */
export const checkRole = async (content: Content, signal: AbortSignal): Promise<void> => {
  const tops = new Set<string>();
  let hasFolder = false;
  await walkArchive(content, signal, {
    isWanted: (path) => {
      const [top, folder] = path.split('/').filter((word) => word !== '' && word !== '.');
      if (top !== undefined) tops.add(top);
      hasFolder ||= folder !== undefined && FOLDERS.has(folder);
      return false;
    },
    isDone: () => tops.size > MAX_NAMES,
  });
  if (tops.size === 1 && hasFolder) return;
  const names = [...tops].toSorted();
  const shown = [...names.slice(0, MAX_NAMES), ...(names.length > MAX_NAMES ? ['…'] : [])].join(', ');
  throw broken(
    `it has ${shown} at its top; the archive of a role has one folder there, with tasks, meta or other folders of a role in it`,
  );
};
