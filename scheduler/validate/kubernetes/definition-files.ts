import type { Application } from '../../application/application.ts';
import { showFile } from '../../application/application.ts';
import type { Platform, RenderedFile, RenderedPackage } from '../../platform/model.ts';
import { type DefinitionFile, mayDefineKinds } from './custom-kinds.ts';

/**
 * Every file that may define kinds: of the platform, of what its templates wrote, and of the applications that can be
 * read. A package whose application cannot be is held elsewhere.
 */
export const definitionFiles = (
  platform: Platform,
  packages: readonly RenderedPackage[],
  applicationOf: (rendered: RenderedPackage) => Application | undefined,
): readonly DefinitionFile[] => {
  const files: DefinitionFile[] = [...(platform.definitions ?? [])];
  const seen = new Set<Application>();
  for (const rendered of packages) {
    const { assignment } = rendered;
    if (!without.has(rendered)) {
      const before = files.length;
      for (const file of rendered.files)
        if (!definesNone(file) && mayDefineKinds(file.bytes))
          files.push({ shown: `${assignment.target.name}/${file.path}`, bytes: file.bytes });
      if (files.length === before) without.add(rendered);
    }
    const application = readable(rendered, applicationOf);
    if (!application || seen.has(application)) continue;
    seen.add(application);
    for (const [path, bytes] of application.files)
      if (mayDefineKinds(bytes)) files.push({ shown: showFile(application, path), bytes });
  }
  return files;
};

/** Files of one mould are told by what they have in common, where nothing that fills it could say otherwise. */
const definesNone = ({ from }: RenderedFile): boolean => {
  if (!from) return false;
  const known = moulds.get(from.mould) ?? !mayDefineKinds(Buffer.from(from.mould.pieces.join('')));
  moulds.set(from.mould, known);
  return known && from.mould.holes.every((field) => !/[A-Z]/.test(from.context[field]));
};
const moulds = new WeakMap<object, boolean>();

/** Packages that a server keeps from build to build are looked through once. */
const without = new WeakSet<RenderedPackage>();

const readable = (
  rendered: RenderedPackage,
  applicationOf: (rendered: RenderedPackage) => Application | undefined,
): Application | undefined => {
  try {
    return applicationOf(rendered);
  } catch {
    return undefined;
  }
};
