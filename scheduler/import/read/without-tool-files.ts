import type { FolderContent, Manifest, SourceTree } from '../imported.ts';
import { readManifests } from './manifests.ts';
import type { RenderedFolder } from './render-folder.ts';

/**
 * The files of a folder to copy, and the kinds to delete from what they give. Files with nothing but objects that only the tool reads
 * are not copied, if no kustomization of the repository names them; where that leaves no such object, no kind has to be deleted.
 * @param kinds `group/Kind` of objects of the tool, or `label:<selector>`
 */
export const withoutToolFiles = (
  { files }: SourceTree,
  { listed, used }: Pick<RenderedFolder, 'listed' | 'used'>,
  kinds: readonly string[],
  isForTool: (value: Manifest) => boolean,
): Pick<FolderContent, 'listed' | 'used' | 'dropped'> => {
  const dropped = [...new Set(kinds)].toSorted();
  if (!listed) return { listed, used, dropped };
  // A folder with a kustomization is listed too. It is copied, and may have objects of the tool.
  const read = new Map(
    listed.map((file) => {
      const bytes = files.get(file);
      return [file, bytes && readManifests(file, file, bytes).map(({ value }) => value)] as const;
    }),
  );
  const isKept = (file: string): boolean => !(read.get(file)?.every(isForTool) ?? false);
  const isMixed = [...read].some(([file, values]) => isKept(file) && (values?.some(isForTool) ?? true));
  return { listed: listed.filter(isKept), used: used.filter(isKept), dropped: isMixed ? dropped : [] };
};
