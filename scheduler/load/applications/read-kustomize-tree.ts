import { posix } from 'node:path';
import { FleetError, type Place } from '#bundles/errors';
import type { SourceSnapshot } from '../../model/model.ts';
import { findKustomization } from '../sources/kustomization-file.ts';
import type { Source } from '../sources/open-sources.ts';
import type { ReadApplication } from './application-source.ts';
import { checkSettingsFile, readKustomization } from './kustomization.ts';

const MAX_FOLDERS = 200;

/** Use of a folder's objects: part of the result, or settings of a generator or transformer. */
type FolderToRead = { readonly path: string; readonly role: 'objects' | 'settings' };

/**
 * Reads the folder of a kustomization, and every folder that it or one of those names, because the base of an overlay is
 * outside of its folder. Kustomize then finds everything in the tree.
 * @throws FleetError REFERENCE_MISSING, YAML_SYNTAX, OBJECT_INVALID, FIELD_INVALID, TOO_MANY, SOURCE_MISSING,
 * SOURCE_UNREACHABLE, WORKSPACE_LIMIT
 */
export const readKustomizeTree = async (
  first: Source,
  folder: string,
  read: (path: string) => Promise<Source>,
): Promise<ReadApplication> => {
  const tree = new Map<string, Buffer>();
  const shown = new Map<string, string>();
  const snapshots: SourceSnapshot[] = [];
  const folders: string[] = [];
  const take = (source: Source, at: string): void => {
    folders.push(at);
    snapshots.push(source.snapshot);
    for (const { path, bytes } of source.files) {
      const file = posix.join(at, path);
      tree.set(file, bytes);
      if (!shown.has(file)) shown.set(file, `${source.prefix}${path}`);
    }
  };
  const covers = (path: string) => (at: string) => at === '.' || path === at || path.startsWith(`${at}/`);
  take(first, folder);
  const waiting: FolderToRead[] = [{ path: folder, role: 'objects' }];
  const done = new Set<string>();
  for (const { path: one, role } of waiting) {
    if (done.has(`${role} ${one}`)) continue;
    done.add(`${role} ${one}`);
    if (done.size > MAX_FOLDERS)
      throw new FleetError('TOO_MANY', `the kustomization names more than ${MAX_FOLDERS} folders`);
    if (!folders.some(covers(one))) take(await read(one), one);
    const file = findKustomization(tree, one);
    if (file === undefined) throw noKustomization(one);
    const at = { file: shown.get(file) ?? file };
    const named = readKustomization(file, at.file, tree.get(file) ?? Buffer.alloc(0));
    if (role === 'settings' && !named.listing) throw madeSettings(one, at);
    const follow = (entry: string, as: FolderToRead['role']): void => {
      const path = posix.join(one, entry).replace(/(?<=.)\/$/, '');
      const bytes = tree.get(path);
      if (bytes && as === 'settings') checkSettingsFile(shown.get(path) ?? path, bytes);
      if (bytes) return;
      if (path === '..' || path.startsWith('../') || posix.isAbsolute(entry))
        throw new FleetError('FIELD_INVALID', `${entry} leads out of the repository`, { at });
      waiting.push({ path, role: as });
    };
    for (const entry of named.entries) follow(entry, role);
    for (const entry of named.settings) follow(entry, 'settings');
  }
  return {
    source: { kind: 'kustomize', folder, tree, shown: (file) => shown.get(file) ?? file },
    snapshots,
  };
};

/** The result of patching settings is known only while Kustomize runs, and settings name files that it loads. */
const madeSettings = (folder: string, at: Place): FleetError =>
  new FleetError('FIELD_INVALID', `${folder} has generators or transformers and does more than list them`, {
    at,
    hint: 'Keep only resources in its kustomization: their settings are taken as they are written',
  });

const noKustomization = (folder: string): FleetError =>
  new FleetError('REFERENCE_MISSING', `${folder} is not a file, and no folder with a kustomization.yaml`, {
    hint: 'Check the name. Files are taken from the folder of the kustomization and below, folders from anywhere in the repository',
  });
