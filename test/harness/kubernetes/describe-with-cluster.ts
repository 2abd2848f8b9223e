import { describe } from 'vitest';
import { SKIPPED } from '../run/count-results.ts';
import { chooseCluster, whyNoPods } from './choose-cluster.ts';

/** A `describe` for tests that need some Kubernetes API (startCluster). Without one they are skipped, and named. */
export const describeWithCluster = (title: string, body: () => void): void => {
  const choice = chooseCluster();
  describeUnless(choice.how === 'none' ? choice.reason : undefined, title, body);
};

/** As describeWithCluster, for tests that bring images of their own: real nodes must have a way to get them. */
export const describeWithPods = (title: string, body: () => void): void =>
  describeUnless(whyNoPods(chooseCluster()), title, body);

const describeUnless = (reason: string | undefined, title: string, body: () => void): void => {
  if (reason === undefined) describe(title, body);
  else describe.skip(`${title}${SKIPPED}${reason})`, body);
};
