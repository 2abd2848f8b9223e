import { posix } from 'node:path';

/** Kustomize's file names; the first that exists is used. */
const NAMES = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'] as const;

/** The kustomization of a folder, if it has one. @param tree files by path in the repository */
export const findKustomization = (
  tree: { readonly has: (path: string) => boolean },
  folder: string,
): string | undefined => NAMES.map((name) => posix.join(folder, name)).find((file) => tree.has(file));

export const isKustomization = (path: string): boolean => {
  const base = posix.basename(path);
  return NAMES.some((name) => name === base);
};

/** Addresses that Kustomize would fetch: URLs, git's own forms, and hosts that it knows. */
const REMOTE =
  /^(?:[a-z][a-z0-9+.-]*:\/\/|git::|gh:|[^\s/@:]+@[^\s/:]+:|(?:github\.com|gitlab\.com|bitbucket\.org)[/:])|[?&]ref=/i;

export const isRemote = (entry: string): boolean => !entry.includes('\n') && REMOTE.test(entry);
