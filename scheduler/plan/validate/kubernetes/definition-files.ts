import { type Application, showFile } from '../../../load/applications/application.ts';
import type { ClusterType, Platform, RenderedPackage } from '../../../model/model.ts';
import { mayDefineKinds } from '../../../model/kubernetes/may-define-kinds.ts';
import type { DefinitionFile } from './custom-kinds.ts';

/**
 * Every file that may define kinds: of the platform, of rendered templates, and of readable applications. A package whose
 * application cannot be read is held elsewhere.
 * @returns also the cluster types of rendered templates that may define kinds
 */
export const definitionFiles = (
  platform: Platform,
  packages: readonly RenderedPackage[],
  applicationOf: (rendered: RenderedPackage) => Application | undefined,
): { readonly files: readonly DefinitionFile[]; readonly defining: ReadonlySet<ClusterType> } => {
  const defining = new Set<ClusterType>();
  const files: DefinitionFile[] = [...(platform.definitions ?? [])];
  const seen = new Set<Application>();
  for (const rendered of packages) {
    const { assignment } = rendered;
    if (rendered.definesNothing !== true && !without.has(rendered)) {
      const before = files.length;
      for (const { path, text } of rendered.files)
        if (mayDefineKinds(text))
          files.push({ shown: `${assignment.target.name}/${path}`, bytes: Buffer.from(text) });
      if (files.length === before) without.add(rendered);
      else defining.add(assignment.clusterType);
    }
    const application = readable(rendered, applicationOf);
    if (!application || seen.has(application)) continue;
    seen.add(application);
    for (const [path, bytes] of application.files)
      if (mayDefineKinds(bytes)) files.push({ shown: showFile(application, path), bytes });
  }
  return { files, defining };
};

/** Packages without definitions. A server keeps packages between builds, so each is searched only once. */
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
