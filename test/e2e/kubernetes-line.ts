/** A line of the example's factory on a cluster, on line: the office, the agent as a process beside the cluster, both to be looked at. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readNote } from '../../agent/observe/note.ts';
import { openOperation } from '../../agent/store/journal/operations.ts';
import { outboxSize } from '../../agent/store/outbox/outbox.ts';
import { readPackages } from '../../agent/store/applied/packages.ts';
import { openState } from '../../agent/store/state.ts';
import type { Cluster } from '../harness/kubernetes/cluster.ts';
import { programFile } from '../harness/run/program-file.ts';
import { type Outcome, runCommand } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { enrolOnceReleased } from './office.ts';
import { makeClusterField, namespacesOf } from './reliability/cluster-field.ts';
import { eventsAtHub, faultsAtHub, toldTwice } from './reliability/hub-record.ts';
import { type OnlineOffice, startOnlineOffice } from './reliability/online-office.ts';
import { makeProcess, type Process } from './reliability/process.ts';
import { bringRunningImages } from './reliability/running-images.ts';

export const CONTROL_FILE = 'apps/line-control/kubernetes/deployment.yaml';
export const TELEMETRY_FILE = 'apps/telemetry/edge/deployment.yaml';
const CLUSTER_TYPE_FILE = 'platform/base/cluster-types/factory-line.yaml';
const AGENT = 'plant-7/line-1';

export type Deployment = {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
};

export type LineOptions = {
  /** parts.dockerRegistry */
  readonly dockerRegistry: string;
  /** parts.busybox; of no use to fake nodes. */
  readonly busybox?: string;
};

export type FactoryLine = Awaited<ReturnType<typeof startLine>>;

/**
 * Starts the office and prepares the agent, which is not running yet. Everything in the cluster is in namespaces that are
 * this run's alone; dispose removes them, where the cluster may live on, and returns when they are gone.
 */
export const startLine = async (cluster: Cluster, { dockerRegistry, busybox }: LineOptions) => {
  await using cleanup = new AsyncDisposableStack();
  const id = randomUUID().slice(0, 8);
  const clusterType = `line-${id}`;
  const [control, telemetry] = namespacesOf(clusterType);
  const namespaces = { control, telemetry, agent: `fleet-agent-${id}` };
  // A cluster of our own goes as a whole, and its API server may be what a test has killed.
  if (cluster.how !== 'own' && cluster.how !== 'assets')
    cleanup.defer(() => removeNamespaces(cluster, Object.values(namespaces)));
  const folder = cleanup.use(await temporaryDirectory('cluster')).path;
  const at = (name: string): string => join(folder, name);
  const office: OnlineOffice = cleanup.use(
    await startOnlineOffice(at('office'), { dockerRegistry, watches: true }),
  );
  const isReal = cluster.nodes === 'real';
  if (isReal) {
    if (busybox === undefined) throw new Error('real nodes run nothing without images');
    await bringRunningImages(office, cluster, { busybox, edition: 'first' });
  }
  await office.edit(CLUSTER_TYPE_FILE, (text) =>
    text.replace('name: factory-line\n', `name: ${clusterType}\n`),
  );
  const field = await makeClusterField(office, cluster, {
    clusterType,
    healthTimeout: isReal ? '30s' : '20s',
  });
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...field.env,
    FLEET_AGENT_NAMESPACE: namespaces.agent,
    FLEET_AGENT_STATE: at('state'),
    FLEET_AGENT_REGISTRY: office.registryAddress,
    FLEET_AGENT_HUB: office.hubAddress,
    FLEET_AGENT_POLL: '1s',
    FLEET_AGENT_PRUNE_BUDGET: '0',
  };
  const processes = cleanup.use(new AsyncDisposableStack());
  let agent: Process | undefined;
  let release = 0;

  const log = (): string => agent?.log() ?? '';
  const startAgent = async (interval: string): Promise<void> => {
    const argv = [process.execPath, programFile('agent'), 'run', '--interval', interval];
    agent = processes.use(makeProcess(argv, { cwd: folder, env, ready: '"msg":"started"' }));
    await agent.start();
  };
  const call = (words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
    runCommand([process.execPath, programFile('agent'), ...words], { cwd: folder, env: { ...env, ...more } });
  const peek = () => {
    using state = openState(at('state'));
    return {
      packages: Object.fromEntries(readPackages(state).map((it) => [it.assignment, it])),
      open: openOperation(state),
      waiting: outboxSize(state).events,
      note: readNote(state.directory),
    };
  };
  const until = async (
    what: string,
    holds: () => boolean | Promise<boolean>,
    ms = 180_000,
  ): Promise<void> => {
    const limit = Date.now() + ms;
    while (!(await holds())) {
      if (Date.now() > limit) {
        const { stdout } = await call(['status']);
        const faults = (await field.faults()).join('\n');
        throw new Error(
          `never: ${what}\n${faults}\n${stdout}\n${log().slice(-2500)}\n${office.hub.log().slice(-600)}`,
        );
      }
      await sleep(150);
    }
  };
  const isRight = async (): Promise<boolean> => {
    const { packages, open, waiting } = peek();
    const healthy = Object.values(packages).every(({ status }) => status === 'healthy');
    return !open && waiting === 0 && healthy && (await field.faults()).length === 0;
  };
  const line = {
    cluster,
    office,
    field,
    namespaces,
    /** Of this run, for names that are the whole cluster's. */
    id,
    at,
    startAgent,
    /** By SIGTERM. @returns its exit code */
    stopAgent: async () => agent?.end('SIGTERM'),
    /** A command of the agent, beside the one that runs. */
    call,
    peek,
    until,
    /** Enrols the agent by its token. */
    enrol: async (): Promise<void> => {
      await writeFile(at('token'), `${await office.token('plant-7')}\n`);
      const words = `--site plant-7 --name line-1 --channel ${field.channel} --token-file token --root-sha256`;
      await enrolOnceReleased(() => call(['enroll', ...words.split(' '), office.rootSha256]));
    },
    /** Changes the office's files so that there is a next release, a good one. @returns its number */
    release: async (): Promise<number> => {
      await field.change(++release, true);
      return release;
    },
    /** Returns while an operation is in one of these phases, which may be over in a moment. */
    catchPhase: async (...phases: readonly string[]): Promise<void> => {
      using state = openState(at('state'));
      const limit = Date.now() + 180_000;
      while (!phases.includes(openOperation(state)?.phase ?? '')) {
        if (Date.now() > limit) throw new Error(`never in ${phases.join(', ')}\n${log().slice(-2500)}`);
        await sleep(3);
      }
    },
    deployment: async (namespace: string, name: string): Promise<Deployment | undefined> => {
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
      const { status, body } = await cluster.request('GET', path);
      return status === 200 ? (body as Deployment) : undefined;
    },
    events: () => eventsAtHub(office.folder, AGENT),
    /** Waits until all is as the newest release wants it, here and in what the hub knows. */
    allRight: async (ms?: number): Promise<void> => {
      await until('all is as the newest release wants it', isRight, ms);
      const told = [...faultsAtHub(office.folder, AGENT), ...toldTwice(eventsAtHub(office.folder, AGENT))];
      if (told.length > 0) throw new Error(`the hub's record is wrong:\n${told.join('\n')}`);
    },
  };
  const moved = cleanup.move();
  return { ...line, [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

/** Returns when they are gone, with all that was in them. */
const removeNamespaces = async (cluster: Cluster, namespaces: readonly string[]): Promise<void> => {
  const names = namespaces.map((name) => `namespace/${name}`);
  const words = ['delete', ...names, '--ignore-not-found', '--wait', '--timeout=120s'];
  const { code, stderr } = await cluster.kubectl(words);
  if (code !== 0) throw new Error(`the namespaces of this run are not gone: ${stderr}`);
};
