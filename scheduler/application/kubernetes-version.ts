import type { ClusterType } from '../platform/model.ts';

/** For cluster types that do not say: fixed, because each Helm has another one of its own. */
const ANY = 'v1.30.0';

/** The version that charts are told they run on: the one a cluster type requires ('>=1.31', '1.31.2'). */
export const kubernetesVersion = ({ requirements }: ClusterType): string => {
  const [, major, minor, patch] = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(requirements.kubernetes ?? '') ?? [];
  return major === undefined ? ANY : `v${major}.${minor}.${patch ?? '0'}`;
};
