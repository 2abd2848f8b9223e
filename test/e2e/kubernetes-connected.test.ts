import { describeWith } from '../harness/run/describe-with.ts';
import { chooseCluster } from '../harness/kubernetes/choose-cluster.ts';
import { describeWithPods } from '../harness/kubernetes/describe-with-cluster.ts';
import { startNodeCluster } from '../harness/kubernetes/node-cluster.ts';
import { startCluster } from '../harness/kubernetes/start-cluster.ts';
import { LONG } from '../harness/run/long.ts';
import { parts } from '../harness/parts.ts';
import { casesOfLine } from './kubernetes-cases.ts';

const NODE_PARTS = ['nodeBase', 'kube', 'busybox', 'dockerRegistry'] as const;
const TITLE = 'a line of a factory, on line,';

const { how } = chooseCluster();
const hasNode = NODE_PARTS.every((name) => parts[name].present);

// Real pods are those of the quickstart on a cluster, of agent-in-cluster and of images-stick.
if (hasNode && LONG)
  describeWith(NODE_PARTS, `${TITLE} on a node`, (paths) => {
    casesOfLine(() => startNodeCluster('line-node', paths), 'real', paths);
  });

// What decides is outside: the count of what was skipped names the outermost group.
describeWithPods(`${TITLE} on the cluster that this machine has`, () => {
  describeWith(['dockerRegistry'], 'with a registry', ({ dockerRegistry }) => {
    const pods = how === 'given' || how === 'k3d' ? 'real' : 'fake';
    // Not needed by fake nodes; describeWithPods has seen to it for real ones.
    const busybox = parts.busybox.present ? parts.busybox.path : '';
    casesOfLine(() => startCluster({ nodes: 1 }), pods, { dockerRegistry, busybox });
  });
});
