import type { ClusterType } from '../../model/model.ts';

/** For cluster types that require none. It is fixed because the default depends on the version of Helm. */
const ANY = 'v1.30.0';

/** The Kubernetes version passed to charts: the one a cluster type requires ('>=1.31', '1.31.2'). */
export const kubernetesVersion = ({ requirements }: ClusterType): string => {
  const [, major, minor, patch] = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(requirements.kubernetes ?? '') ?? [];
  return major === undefined ? ANY : `v${major}.${minor}.${patch ?? '0'}`;
};
