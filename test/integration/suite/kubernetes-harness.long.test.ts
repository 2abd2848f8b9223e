import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { writesOf } from '../../harness/kubernetes/audit-log.ts';
import { makeBusyboxImage, makeBusyboxRoot } from '../../harness/kubernetes/busybox-image.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { describeWithCluster } from '../../harness/kubernetes/describe-with-cluster.ts';
import { type KubernetesNode, startNode, WORK_TREE } from '../../harness/kubernetes/node.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { startCluster } from '../../harness/kubernetes/start-cluster.ts';
import { openPodman } from '../../harness/hosts/podman.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, runCommand } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** Runs `work` and says how long it took: what a test of the product may count on. */
const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  const start = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return result;
};

const succeed = ({ code, stdout, stderr }: Outcome): string => {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};

describeWithCluster('the Kubernetes API that this machine has', () => {
  test('starts, and lets a test do everything', async () => {
    await using cluster = await timed('a cluster is up', () => startCluster());
    const version = JSON.parse(succeed(await cluster.kubectl(['version', '--output=json'])));
    expect(version.serverVersion.gitVersion).toMatch(/^v1\.\d+/);
    const may = await cluster.kubectl(['auth', 'can-i', '*', '*', '--all-namespaces']);
    expect(may.stdout.trim()).toBe('yes');
    expect(cluster.server).toMatch(/^https:/);
  });
});

describeWith(['kube', 'kwok'], 'a cluster of the harness', ({ kube, kwok }) => {
  let cluster: OwnCluster;
  beforeAll(async () => {
    cluster = await timed('a cluster of our own is up', () =>
      startOwnCluster({ kube, kwok, nodes: 3, audit: true }),
    );
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const rollOut = (name: string) =>
    timed(`Deployment ${name} is available`, () =>
      cluster.kubectl(['rollout', 'status', `deployment/${name}`, '--timeout=60s']),
    );

  test('has its nodes ready and its default service account', async () => {
    const nodes = succeed(await cluster.kubectl(['get', 'nodes', '--no-headers']));
    expect(nodes.match(/ Ready /g)).toHaveLength(3);
    succeed(await cluster.kubectl(['get', 'serviceaccount', 'default']));
  });

  test('makes a Deployment available, with its pods on several fake nodes', async () => {
    const image = 'registry.example/nothing:1';
    succeed(await cluster.kubectl(['create', 'deployment', 'web', `--image=${image}`, '--replicas=6']));
    expect((await rollOut('web')).stdout).toContain('successfully rolled out');
    const names = '--output=jsonpath={.items[*].spec.nodeName}';
    const on = succeed(await cluster.kubectl(['get', 'pods', '--selector=app=web', names]));
    expect(new Set(on.split(' '))).toEqual(new Set(['node-1', 'node-2', 'node-3']));
  });

  test('is unreachable while its API server is stopped, and the same when it is back', async () => {
    const readNode = () => cluster.request('GET', '/api/v1/nodes/node-1');
    await cluster.stopApiServer();
    await expect(readNode()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await timed('the API server is back', () => cluster.startApiServer());
    expect((await readNode()).status).toBe(200);

    await cluster.killApiServer();
    await expect(readNode()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(cluster.startApiServer().then(() => cluster.startApiServer())).rejects.toMatchObject({
      code: 'BUSY',
    });
    await cluster.restartApiServer();

    succeed(await cluster.kubectl(['scale', 'deployment/web', '--replicas=7']));
    expect((await rollOut('web')).stdout).toContain('successfully rolled out');
  });

  test('has each write of a client in its audit log', async () => {
    const before = (await cluster.readAudit()).length;
    succeed(await cluster.kubectl(['create', 'configmap', 'seen', '--from-literal=a=b']));
    succeed(await cluster.kubectl(['get', 'configmap', 'seen']));
    const events = (await cluster.readAudit()).slice(before);
    const writes = writesOf(events).filter(({ objectRef }) => objectRef?.name === 'seen');
    expect(writes).toMatchObject([
      { verb: 'create', responseStatus: { code: 201 }, objectRef: { resource: 'configmaps' } },
    ]);
    expect(events.some(({ verb, objectRef }) => verb === 'get' && objectRef?.name === 'seen')).toBe(true);
    const agents = writesOf(await cluster.readAudit()).map(({ userAgent }) => userAgent?.split('/')[0]);
    expect(new Set(agents)).toEqual(new Set(['kubectl']));
  });

  test('shares no port and object with another, which may have own flags or a full disk', async () => {
    await using other = await startOwnCluster({
      kube,
      kwok,
      apiServerFlags: ['--profiling=false'],
      etcdQuota: 10 << 20,
    });
    expect(other.server).not.toBe(cluster.server);
    expect((await other.request('GET', '/apis/apps/v1/namespaces/default/deployments/web')).status).toBe(404);
    expect((await other.request('GET', '/debug/pprof/')).status).toBe(404);
    expect((await cluster.request('GET', '/debug/pprof/')).status).toBe(200);

    const write = (index: number) =>
      other.request('POST', '/api/v1/namespaces/default/configmaps', {
        metadata: { name: `big-${index}` },
        data: { big: 'x'.repeat(900_000) },
      });
    let refused = await write(1);
    for (let index = 2; refused.status === 201 && index < 20; index += 1) refused = await write(index);
    expect(refused.status).toBe(500);
    expect(JSON.stringify(refused.body)).toContain('database space exceeded');
    expect((await other.request('GET', '/api/v1/namespaces/default/configmaps/big-1')).status).toBe(200);
  });

  test('ends with the run that started it, and the next run removes its leftovers', async () => {
    const module = JSON.stringify(join(import.meta.dirname, '../../harness/kubernetes/own-cluster.ts'));
    const program = `
      const { startOwnCluster } = await import(${module});
      const cluster = await startOwnCluster(${JSON.stringify({ kube, kwok })});
      console.log(cluster.kubeconfig + ' ' + cluster.server);
      setInterval(() => {}, 1000);`;
    const run = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [kubeconfig = '', server = ''] = (await firstLine(run)).split(' ');
    const folder = dirname(kubeconfig);
    expect(existsSync(kubeconfig)).toBe(true);
    run.kill('SIGKILL');
    await once(run, 'exit');
    await expect.poll(() => fetch(server).catch((error) => error.cause.code)).toBe('ECONNREFUSED');
    await expect.poll(async () => (await runCommand(['pgrep', '--full', folder])).stdout).toBe('');
    await using next = await startOwnCluster({ kube, kwok });
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(next.kubeconfig)).toBe(true);
  });
});

describeWith(['nodeBase', 'kube', 'busybox', 'dockerRegistry'], 'a node', (paths) => {
  const { nodeBase, kube, busybox, dockerRegistry } = paths;
  let folder: TemporaryDirectory;
  let stick: string;
  let node: KubernetesNode;
  const image = 'registry.example/factory/web:1';
  const pods = async () =>
    JSON.parse(succeed(await node.kubectl(['get', 'pods', '--selector=app=web', '--output=json']))).items;

  beforeAll(async () => {
    folder = await temporaryDirectory('node-test');
    stick = join(folder.path, 'stick');
    await mkdir(stick);
    const made = await makeBusyboxImage(busybox, join(folder.path, 'layout'), { name: image });
    await made.writeArchive(join(stick, 'web.tar'));
    node = await timed('a node is ready', () =>
      startNode('node-a', {
        nodeBase,
        kube,
        busybox,
        workTree: true,
        binds: [{ from: stick, to: '/media/usb', readOnly: true }],
      }),
    );
  });
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  test('is a whole cluster without a network, with Node.js 24 and this repository', async () => {
    const nodes = succeed(await node.kubectl(['get', 'nodes', '--no-headers']));
    expect(nodes).toMatch(/^node-a +Ready /);
    expect(succeed(await node.exec(['systemctl', 'list-units', '--failed', '--plain', '--no-legend']))).toBe(
      '',
    );
    expect(succeed(await node.exec(['ip', '-brief', 'link', 'show', 'up']))).toMatch(/^lo /);
    const agent = await node.exec(['node', `${WORK_TREE}/agent/fleet-agent.js`, '--version']);
    expect(succeed(agent)).toContain(process.version);
  });

  test('runs pods from an image on a medium, with their probes', async () => {
    succeed(await node.kubectl(['apply', '--filename=-'], { input: JSON.stringify(webDeployment(image)) }));
    await expect.poll(async () => (await pods())[0]?.status.phase).toBe('Pending');

    await timed('an image is imported', async () =>
      succeed(await node.ctr(['images', 'import', '/media/usb/web.tar'])),
    );
    // The kubelet has asked for it before, and waits ever longer between its tries.
    await expect.poll(async () => (await pods())[0].status.phase, { timeout: 60_000 }).toBe('Running');
    expect((await pods())[0].status.containerStatuses[0].ready).toBe(false);

    succeed(await node.kubectl(['exec', 'deployment/web', '--', 'touch', '/tmp/ready']));
    const rollout = ['rollout', 'status', 'deployment/web', '--timeout=60s'];
    expect(succeed(await node.kubectl(rollout))).toContain('successfully rolled out');
    const shell = 'id -u; wget -q -O - http://127.0.0.1:8080/hello; nc 10.96.0.1 443 < /dev/null && echo API';
    const said = await node.kubectl(['exec', 'deployment/web', '--', 'sh', '-c', shell]);
    expect(said.stdout).toBe('1000\nhello\nAPI\n');
    expect((await node.kubectl(['logs', 'deployment/web'])).code).toBe(0);
  });

  test('runs its pods again after a power cut', async () => {
    const restartsBefore = (await pods())[0].status.containerStatuses[0].restartCount;
    await node.crash();
    await timed('a node is ready after a power cut', () => node.start());
    const state = async () => (await pods())[0].status.containerStatuses[0];
    await timed('its pod runs again', () =>
      expect
        .poll(async () => (await state()).restartCount, { timeout: 60_000 })
        .toBeGreaterThan(restartsBefore),
    );
    expect(succeed(await node.ctr(['images', 'list', '--quiet']))).toContain(image);
  });

  test('with a network cable reaches this machine and is reached, until it is cut off', async () => {
    await using other = await timed('a second node is ready', () =>
      startNode('node-b', { nodeBase, kube, busybox, network: 'machine' }),
    );
    const { cable } = other;
    if (cable === undefined) throw new Error('The node has no cable.');
    await using registry = await startRegistry(dockerRegistry, { address: cable.machineAddress });
    const url = `${registry.url}/v2/`;
    const program = `fetch(${JSON.stringify(url)}, { signal: AbortSignal.timeout(2000) }).then((it) => it.text())
      .then((it) => process.stdout.write(it), () => process.stdout.write('away'))`;
    const ask = async () => (await other.exec(['node', '--eval', program])).stdout;

    expect(await ask()).toBe('{}');
    const serve = ['busybox', 'httpd', '-f', '-p', '8080', '-h', '/etc'];
    expect((await other.exec(['systemd-run', '--quiet', ...serve])).code).toBe(0);
    const hostname = async () => (await fetch(`http://${cable.hostAddress}:8080/hostname`)).text();
    await expect.poll(hostname).toBe('node-b\n');
    await cable.cutOff();
    expect(await ask()).toBe('away');
    await cable.reconnect();
    expect(await ask()).toBe('{}');

    await cable.cutOff();
    await other.crash();
    await other.start();
    expect(await ask()).toBe('away');
    await cable.reconnect();
    expect(await ask()).toBe('{}');
  });
});

describeWith(['busybox', 'podman'], 'podman', ({ busybox, podman }) => {
  test('builds on a local base without a network, and writes an image that other tools read', async () => {
    await using folder = await temporaryDirectory('build');
    await using builder = await openPodman(podman);
    const run = async (...args: string[]) => succeed(await builder.podman(args));
    await makeBusyboxRoot(busybox, join(folder.path, 'base/root'));
    await writeFile(join(folder.path, 'base/Dockerfile'), 'FROM scratch\nCOPY root /\n');
    await run('build', '--tag=localhost/base:1', join(folder.path, 'base'));

    const lines = ['ARG BASE', 'FROM ${BASE}', 'RUN ls /sys/class/net > /network', 'USER 1000', 'CMD ["id"]'];
    await writeFile(join(folder.path, 'Dockerfile'), lines.join('\n'));
    const words = ['build', '--build-arg=BASE=localhost/base:1', '--tag=localhost/app:1', folder.path];
    const said = await timed('an image is built', () => run(...words));
    expect(said).toContain('Successfully tagged localhost/app:1');
    const archive = join(folder.path, 'app.tar');
    const saved = ['save', '--quiet', '--format=oci-archive', `--output=${archive}`, 'localhost/app:1'];
    expect((await builder.podman(saved)).code).toBe(0);
    expect((await runCommand(['tar', '--list', `--file=${archive}`])).stdout).toContain('index.json');
  });
});

/** Ready as soon as there is a file /tmp/ready in its container. */
const webDeployment = (image: string): object => {
  const probe = { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 };
  const serve = 'echo hello > /tmp/hello; exec httpd -f -v -p 8080 -h /tmp';
  const container = { name: 'web', image, command: ['sh', '-c', serve], readinessProbe: probe };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } },
    },
  };
};

const firstLine = async (child: ChildProcess): Promise<string> => {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  while (!text.includes('\n') && child.exitCode === null) await sleep(20);
  return text.split('\n')[0] ?? '';
};
