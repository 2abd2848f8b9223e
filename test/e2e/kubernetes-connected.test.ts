import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readNote } from '../../agent/daemon/note.ts';
import { openOperation } from '../../agent/journal/operations.ts';
import { outboxSize } from '../../agent/report/outbox.ts';
import { readPackages } from '../../agent/store/packages.ts';
import { openState } from '../../agent/store/state.ts';
import { describeWith } from '../harness/describe-with.ts';
import { fillEtcd, makeRoomInEtcd } from '../harness/faulty-etcd.ts';
import { writesOf } from '../harness/kubernetes/audit-log.ts';
import type { OwnCluster } from '../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../harness/kubernetes/own-cluster.ts';
import { runCommand } from '../harness/run-command.ts';
import { temporaryDirectory } from '../harness/temporary-directory.ts';
import { program, succeed } from './office.ts';
import { makeClusterField } from './reliability/cluster-field.ts';
import type { Field } from './reliability/field.ts';
import { eventsAtHub, faultsAtHub, toldTwice } from './reliability/hub-record.ts';
import { type OnlineOffice, startOnlineOffice } from './reliability/online-office.ts';
import { makeProcess, type Process } from './reliability/process.ts';

const AGENT = 'plant-7/line-1';
const NAMESPACE = 'prod-factory-line-line-control-line';
const OTHER = 'prod-factory-line-telemetry-line';
const CONTROL = 'apps/line-control/kubernetes/deployment.yaml';
const TELEMETRY = 'apps/telemetry/edge/deployment.yaml';

type Deployment = {
  readonly spec: { readonly replicas: number };
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
};

describeWith(['kube', 'kwok', 'dockerRegistry'], 'a line of a factory on its cluster, on line', (paths) => {
  const stack = new AsyncDisposableStack();
  let folder = '';
  let office: OnlineOffice;
  let cluster: OwnCluster;
  let field: Field;
  let agent: Process;
  let env: NodeJS.ProcessEnv = {};
  let release = 0;
  const at = (name: string): string => join(folder, name);

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('cluster')).path;
    cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1, audit: true, etcdQuota: 24 << 20 }));
    office = stack.use(
      await startOnlineOffice(at('office'), { dockerRegistry: paths.dockerRegistry, watches: true }),
    );
    field = await makeClusterField(office, cluster);
    env = {
      ...process.env,
      ...field.env,
      FLEET_AGENT_STATE: at('state'),
      FLEET_AGENT_REGISTRY: office.registryAddress,
      FLEET_AGENT_HUB: office.hubAddress,
      FLEET_AGENT_POLL: '1s',
      FLEET_AGENT_PRUNE_BUDGET: '0',
    };
  });
  afterAll(() => stack.disposeAsync());

  const startAgent = async (interval: string): Promise<void> => {
    const argv = [process.execPath, program('agent'), 'run', '--interval', interval];
    agent = stack.use(makeProcess(argv, { cwd: folder, env, ready: '"msg":"started"' }));
    await agent.start();
  };
  const call = (words: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    runCommand([process.execPath, program('agent'), ...words], { cwd: folder, env: { ...env, ...more } });
  const peek = () => {
    using state = openState(at('state'));
    return {
      packages: Object.fromEntries(readPackages(state).map((it) => [it.assignment, it])),
      open: openOperation(state),
      waiting: outboxSize(state).events,
      note: readNote(state.directory),
    };
  };
  /** Returns while the operation is in this phase, which may be over in a moment. */
  const catchPhase = async (phase: string): Promise<void> => {
    using state = openState(at('state'));
    const limit = Date.now() + 60_000;
    while (openOperation(state)?.phase !== phase) {
      if (Date.now() > limit) throw new Error(`never at work\n${agent.log().slice(-2500)}`);
      await sleep(3);
    }
  };
  const until = async (what: string, holds: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> => {
    const limit = Date.now() + ms;
    while (!(await holds())) {
      if (Date.now() > limit) {
        const { stdout } = await call(['status']);
        throw new Error(
          `never: ${what}\n${stdout}\n${agent.log().slice(-2500)}\n${office.hub.log().slice(-600)}`,
        );
      }
      await sleep(150);
    }
  };
  const deployment = async (namespace: string, name: string): Promise<Deployment | undefined> => {
    const { status, body } = await cluster.request(
      'GET',
      `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`,
    );
    return status === 200 ? (body as Deployment) : undefined;
  };
  const isRight = async (): Promise<boolean> => {
    const { packages, open, waiting } = peek();
    const healthy = Object.values(packages).every(({ status }) => status === 'healthy');
    return !open && waiting === 0 && healthy && (await field.faults()).length === 0;
  };
  const allRight = async (ms?: number): Promise<void> => {
    await until('all is as the newest release wants it', isRight, ms).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${(await field.faults()).join('\n')}`);
    });
    expect(faultsAtHub(office.folder, AGENT)).toEqual([]);
    expect(toldTwice(eventsAtHub(office.folder, AGENT))).toEqual([]);
  };
  const agentWrites = async (): Promise<number> => writesOf(await cluster.readAudit()).length;

  it('is rolled out from the registry, and nothing is written while nothing changes', async () => {
    await field.change(++release, true);
    await writeFile(at('token'), `${await office.token('plant-7')}\n`);
    const words = '--site plant-7 --name line-1 --channel prod/factory-line --token-file token --root-sha256';
    succeed(await call(['enroll', ...words.split(' '), office.rootSha256]));
    // What is corrected before that was seen by watching.
    await startAgent('10m');
    await allRight();
    expect(Object.keys(peek().packages)).toEqual(['line-control-line', 'telemetry-line']);
    const before = await agentWrites();
    succeed(await call(['run', '--once'], { FLEET_AGENT_ON_DRIFT: 'correct' }));
    await sleep(4000);
    expect(await agentWrites()).toBe(before);
  });

  it('is corrected as soon as somebody changes something', async () => {
    await cluster.request('PATCH', `/apis/apps/v1/namespaces/${OTHER}/deployments/telemetry`, {
      spec: { replicas: 3 },
    });
    await cluster.request('DELETE', `/api/v1/namespaces/${NAMESPACE}/configmaps/of-release-${release}-0`);
    await allRight(20_000);
    await until('the hub knows', () =>
      eventsAtHub(office.folder, AGENT).some(({ type }) => type === 'corrected'),
    );
    expect(await agent.end('SIGTERM')).toBe(0);
    await startAgent('3s');
  });

  it('rolls back alone what never gets healthy, while the other package of the release goes on', async () => {
    const telemetry = (text: string): string =>
      text.replace('  name: telemetry\n', '  name: telemetry\n  annotations: {edition: second}\n');
    await office.edit(TELEMETRY, telemetry);
    await office.edit(CONTROL, (text) =>
      text.replace('      containers:\n', '      nodeSelector: {no: where}\n      containers:\n'),
    );
    await until('the other one runs', async () => {
      const live = await deployment(OTHER, 'telemetry');
      return live?.metadata.annotations?.['edition'] === 'second';
    });
    await until('it is rolled back', () => peek().packages['line-control-line']?.status === 'failed');
    expect(peek().packages['line-control-line']).toMatchObject({ code: 'CHECK_FAILED' });
    expect(await field.faults()).toEqual([]);
    const { stdout } = await call(['status']);
    expect(stdout).toMatch(/^line-control-line +failed .*CHECK_FAILED: /m);
    expect(stdout).toMatch(/^telemetry-line +healthy /m);
    await field.change(++release, true);
    await allRight();
  });

  it('goes on by itself when the API server is killed in the middle of a package and comes back', async () => {
    await field.change(++release, true);
    await catchPhase('apply');
    await cluster.killApiServer();
    expect(peek().open?.assignment).toBe('line-control-line');
    await sleep(2000);
    await cluster.startApiServer();
    await allRight();
    expect(eventsAtHub(office.folder, AGENT).filter(({ code }) => code?.startsWith('API_'))).toEqual([]);
  });

  it('says by name which package a policy refuses, and applies the others', async () => {
    const api = '/apis/admissionregistration.k8s.io/v1';
    const name = 'no-night-shift';
    await cluster.request('POST', `${api}/validatingadmissionpolicies`, {
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE', 'UPDATE'],
              resources: ['configmaps'],
            },
          ],
        },
        validations: [
          {
            expression: "!object.metadata.name.startsWith('of-release-')",
            message: 'the factory sleeps at night',
          },
        ],
      },
    });
    await cluster.request('POST', `${api}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
    await until('the policy holds', async () => {
      const { status } = await cluster.request('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', {
        metadata: { name: 'of-release-x' },
      });
      return status !== 201;
    });
    await office.edit(TELEMETRY, (text) => text.replace('edition: second', 'edition: third'));
    await field.change(++release, true);
    await until('it is refused', () => peek().packages['line-control-line']?.status === 'failed');
    expect(peek().packages['line-control-line']).toMatchObject({
      code: 'API_REFUSED',
      message: expect.stringContaining('the factory sleeps at night') as string,
    });
    await until('the other one runs', async () => {
      const live = await deployment(OTHER, 'telemetry');
      return live?.metadata.annotations?.['edition'] === 'third';
    });
    await cluster.request('DELETE', `${api}/validatingadmissionpolicybindings/${name}`);
    await cluster.request('DELETE', `${api}/validatingadmissionpolicies/${name}`);
    await field.change(++release, true);
    await allRight();
  });

  it('waits for a store that is full, says so, and is right when somebody made room', async () => {
    await fillEtcd(cluster);
    await field.change(++release, true);
    await until('it says so', () => peek().packages['line-control-line']?.code === 'API_UNREACHABLE');
    const { stdout } = await call(['status']);
    expect(stdout).toMatch(/^line-control-line .*API_UNREACHABLE: the store behind .* is full/m);
    await makeRoomInEtcd(cluster);
    await allRight(90_000);
  });

  it('keeps a second agent off while it works, which says who is at work', async () => {
    await cp(at('state'), at('copy'), { recursive: true });
    await office.edit(CONTROL, (text) =>
      text.replace('      containers:\n', '      nodeSelector: {no: where}\n      containers:\n'),
    );
    await catchPhase('settle');
    await cluster.request('PATCH', `/apis/apps/v1/namespaces/${OTHER}/deployments/telemetry`, {
      spec: { replicas: 2 },
    });
    const second = await call(['run', '--once'], { FLEET_AGENT_STATE: at('copy') });
    expect(second.stderr + second.stdout).toMatch(/BUSY.*another fleet-agent is at work on this cluster/s);
    await field.change(++release, true);
    await allRight();
  });

  it('removes what left the release only inside the budget', async () => {
    await office.edit('platform/base/policies/factory-floor.yaml', (text) =>
      text.replace(
        '  name: factory-lines\nspec:\n  deploymentTargetSelector:\n',
        (match) => `${match}    workspace: platform\n`,
      ),
    );
    await until('it is held', () => peek().packages['line-control-line']?.code === 'PRUNE_BUDGET');
    expect(await deployment(NAMESPACE, 'line-control')).toBeDefined();
    expect(await agent.end('SIGTERM')).toBe(0);
    succeed(await call(['run', '--once'], { FLEET_AGENT_PRUNE_BUDGET: '1' }));
    expect(await deployment(NAMESPACE, 'line-control')).toBeUndefined();
    expect(Object.keys(peek().packages)).toEqual(['telemetry-line']);
  });
});
