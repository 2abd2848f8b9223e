import { posix, resolve } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { EditedFile } from '../../deliver/kalypso/promote-base.ts';
import { cleanPath, type Source, type SourceRequest, type Sources } from '../../load/sources/open-sources.ts';
import { isHidden, type SourceFile } from '../../load/sources/read-files.ts';
import { treeDigest } from '../../load/sources/tree-digest.ts';
import { type Location, refName } from '../../model/location.ts';
import { repositoryKey } from '../../model/repository-url.ts';

/** Files of one branch or directory to write. */
export type EditedFiles = { readonly location: Location; readonly files: readonly EditedFile[] };

/**
 * Sources in which these files have their new content. A base repository that is pinned to a commit of the same branch is read at the
 * head of the branch, with the files: as it will be once it is promoted.
 */
export const withEdits = (sources: Sources, { location, files }: EditedFiles): Sources => ({
  ...sources,
  read: async (request) => {
    if (!isSamePlace(request.location, location)) return await sources.read(request);
    const moved = { ...request, location };
    const inside = edited(moved, files);
    if (inside.length === 0) return await sources.read(moved);
    return changed(moved, await readOrEmpty(sources, moved), inside);
  },
});

/** Whether two locations are the same directory, or the same branch of a repository. */
export const isSamePlace = (one: Location, other: Location): boolean => {
  if (one.kind === 'directory' || other.kind === 'directory')
    return (
      one.kind === 'directory' &&
      other.kind === 'directory' &&
      resolve(one.directory) === resolve(other.directory)
    );
  return (
    repositoryKey(one.repo) === repositoryKey(other.repo) && refName(one.revision) === refName(other.revision)
  );
};

/** The edited files that a request would read, by path below the path of the request. */
const edited = (request: SourceRequest, files: readonly EditedFile[]): readonly SourceFile[] => {
  const path = cleanPath(request.path);
  const { which = 'yaml', wanted } = request;
  return files.flatMap(({ path: file, bytes }) => {
    const below = path === '.' ? file : posix.relative(path, file);
    if (below.startsWith('../') || below === '') return [];
    if (which === 'yaml' && !/\.ya?ml$/i.test(file) && posix.basename(file) !== 'Kustomization') return [];
    return wanted && !wanted(below) ? [] : [{ path: below, bytes }];
  });
};

/** A folder of a directory that is not there yet is empty. */
const readOrEmpty = async (sources: Sources, request: SourceRequest): Promise<Source> => {
  try {
    return await sources.read(request);
  } catch (error) {
    const { location, role } = request;
    if (!isFleetError(error, 'SOURCE_MISSING') || location.kind === 'git') throw error;
    const path = cleanPath(request.path);
    const directory = resolve(location.directory, path);
    const shown = `${location.shown.replace(/\/+$/, '')}/`;
    return {
      location,
      files: [],
      prefix: path === '.' ? shown : `${shown}${path}/`,
      snapshot: { role, repo: location.directory, path, tree: treeDigest([]), directory },
    };
  }
};

/** @throws FleetError FIELD_INVALID for a new file that .sourceignore hides */
const changed = (request: SourceRequest, source: Source, inside: readonly SourceFile[]): Source => {
  const byPath = new Map(source.files.map((file) => [file.path, file]));
  for (const file of inside) {
    if (!byPath.has(file.path) && request.ignore !== 'none') refuseHidden(source, file, request);
    byPath.set(file.path, file);
  }
  const files = [...byPath.values()].toSorted((a, b) => compareBytes(a.path, b.path));
  return { ...source, files, snapshot: { ...source.snapshot, tree: treeDigest(files) } };
};

const refuseHidden = ({ snapshot, prefix }: Source, { path }: SourceFile, request: SourceRequest): void => {
  const { directory } = snapshot;
  const below = cleanPath(request.path);
  const root = below === '.' ? directory : resolve(directory, posix.relative(below, '.'));
  if (!isHidden(root, posix.join(below, path), prefix)) return;
  throw new FleetError('FIELD_INVALID', '.sourceignore hides this file, so nothing would read it', {
    at: { file: `${prefix}${path}` },
    hint: 'Choose another folder, or change .sourceignore',
  });
};
