/** True for a file that may hold Kubernetes objects. kustomization.yaml is for other tools and has none. */
export const isManifest = (path: string): boolean =>
  /\.ya?ml$/.test(path) && !/(^|\/)kustomization\.ya?ml$/.test(path);
