import { describe } from 'vitest';
import { SKIPPED } from '../count-results.ts';
import { chooseCluster } from './choose-cluster.ts';

/** A `describe` for tests that need some Kubernetes API (startCluster). Without one they are skipped, and named. */
export const describeWithCluster = (title: string, body: () => void): void => {
  const choice = chooseCluster();
  if (choice.how === 'none') describe.skip(`${title}${SKIPPED}${choice.reason})`, body);
  else describe(title, body);
};
