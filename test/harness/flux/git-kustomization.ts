type Source = {
  readonly url: string;
  readonly branch: string;
  /** Fields of the Kustomization's spec besides `prune` and `sourceRef`, in YAML's flow style: 'interval: 1m, path: ./edge'. */
  readonly applies: string;
};

/** Flux's objects that apply a branch of a Git repository: a GitRepository and a Kustomization of one name in flux-system. */
export const gitKustomization = (name: string, { url, branch, applies }: Source): string =>
  `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: ${name}, namespace: flux-system}
spec: {interval: 1s, url: '${url}', ref: {branch: ${branch}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: ${name}, namespace: flux-system}
spec: {${applies}, prune: true, sourceRef: {kind: GitRepository, name: ${name}}}
`;
