import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseMedium } from '#bundles/formats/medium/medium';
import { EXAMPLE_IMAGES } from '../../examples/make-images.ts';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { importAgentBase } from '../harness/hosts/agent-base-image.ts';
import { copyBuiltAgent } from '../harness/run/built-programs.ts';
import { LONG } from '../harness/run/long.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { type KubernetesNode, startNode, WORK_TREE } from '../harness/kubernetes/node.ts';
import { openPodman } from '../harness/hosts/podman.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { makeTwoPlatformImage } from '../harness/fleets/two-platform-image.ts';
import { type Office, openOffice } from './office.ts';
import { succeed } from '../harness/run/run-command.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const IMAGE = 'registry.halden.example/fleet-agent:1';
const BASE = 'localhost/node:24';
const LINE_CONTROL = 'registry.halden.example/line-control:5.0.4';
const IN_AGENT = ['--namespace=fleet-agent', 'deploy/fleet-agent'];
const ENROLL =
  'enroll /media/fleet --fleet halden --site plant-7 --name line-1 --channel prod/factory-line --root-sha256'.split(
    ' ',
  );
/** What a platform engineer writes for such a site: its image, a directory of the node for the state, a configuration. */
const OVERLAY = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../..${WORK_TREE}/deploy/kubernetes/offline]
components: [../../..${WORK_TREE}/deploy/kubernetes/single-node]
images: [{ name: fleet-agent, newName: ${IMAGE.split(':')[0]}, newTag: '1' }]
configMapGenerator:
  - name: fleet-agent
    namespace: fleet-agent
    literals: ['agent.yaml=interval: 10s']
    options: { disableNameSuffixHash: true }
`;

describeWith(
  ['nodeBase', 'kube', 'busybox', 'podman'],
  'an agent in the cluster that it manages, behind an air gap',
  (paths) => {
    let office: Office;
    let media: TemporaryDirectory;
    let stick: string;
    let folder: TemporaryDirectory;
    let node: KubernetesNode;

    beforeAll(async () => {
      folder = await temporaryDirectory('office');
      media = await temporaryDirectory('media');
      for (const part of ['agent', 'fleet']) await mkdir(join(media.path, part));
      stick = join(media.path, 'fleet');
      office = await openOffice(folder.path);
      await makeImages('one\n');
      await buildAgentImage(join(media.path, 'agent/fleet-agent.tar'));
      await writeFile(join(media.path, 'agent/kustomization.yaml'), OVERLAY);
      node = await startNode('agent-in-cluster', {
        ...paths,
        workTree: true,
        binds: [{ from: media.path, to: '/media/usb' }],
      });
      // As a machine that mounts a stick has it: what is mounted below /media later is seen in pods.
      succeed(
        await shell(
          'mkdir -p /media/fleet && mount --make-rshared / && mount --bind /media/usb/fleet /media/fleet',
        ),
      );
    }, 600_000);
    afterAll(async () => {
      await node?.[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
      await media?.[Symbol.asyncDispose]();
    });

    /** As its header says, but with a base that comes from no registry. */
    const buildAgentImage = async (archive: string): Promise<void> => {
      await using builder = await openPodman(paths.podman);
      await using context = await temporaryDirectory('context');
      await mkdir(join(context.path, 'dist'));
      await copyBuiltAgent(join(context.path, 'dist/agent'));
      await importAgentBase(builder, BASE, { busybox: paths.busybox, libraries: paths.nodeBase });
      const dockerfile = join(REPOSITORY, 'Dockerfile.agent');
      const build = ['build', '--quiet', '--pull=never', `--build-arg=BASE=${BASE}`];
      succeed(await builder.podman([...build, `--file=${dockerfile}`, `--tag=${IMAGE}`, context.path]));
      // The other format is compressed: four CPU seconds for the Node in it.
      succeed(
        await builder.podman(['save', '--quiet', '--format=docker-archive', `--output=${archive}`, IMAGE]),
      );
    };
    const makeImages = async (page: string, names: readonly string[] = EXAMPLE_IMAGES): Promise<void> => {
      for (const name of names)
        await makeTwoPlatformImage(paths.busybox, join(folder.path, 'images'), { name, page });
      succeed(await office.scheduler('images', 'lock', '--images', 'images', '--update'));
    };
    const release = async (...words: readonly string[]): Promise<void> => {
      await office.build();
      await office.fill(stick, 'plant-7', ...words);
    };
    const shell = (script: string) => node.exec(['/bin/sh', '-c', script]);
    const inContainer = (...command: readonly string[]) =>
      node.kubectl(['exec', ...IN_AGENT, '--container=agent', '--', ...command]);
    const agent = (...words: readonly string[]) => inContainer('fleet-agent', ...words);
    /** What the kubelet runs to learn whether the agent lives. */
    const probe = async () => {
      const field = '{.spec.template.spec.containers[0].livenessProbe.exec.command}';
      const { stdout } = await node.kubectl(['get', ...IN_AGENT, `--output=jsonpath=${field}`]);
      return inContainer(...(JSON.parse(stdout) as readonly string[]));
    };
    const logs = async (): Promise<string> => (await node.kubectl(['logs', ...IN_AGENT])).stdout;
    const agentPod = async (field: string): Promise<string> => {
      const selector = ['--namespace=fleet-agent', '--selector=app.kubernetes.io/name=fleet-agent'];
      return (await node.kubectl(['get', 'pods', ...selector, `--output=jsonpath={.items[*].${field}}`]))
        .stdout;
    };
    const isRunning = async (): Promise<boolean> =>
      (await agentPod('status.containerStatuses[*].ready')) === 'true';
    /** What the pod of line-control serves; empty while there is none. */
    const page = async (): Promise<string> => {
      const selector = [
        '--all-namespaces',
        '--selector=app=line-control',
        '--field-selector=status.phase=Running',
      ];
      const names = '{.items[0].metadata.name} {.items[0].metadata.namespace}';
      const found = await node.kubectl(['get', 'pods', ...selector, `--output=jsonpath=${names}`]);
      const [name = '', namespace = ''] = found.stdout.split(' ');
      if (found.code !== 0 || name === '') return '';
      return (await node.kubectl(['exec', '--namespace', namespace, name, '--', 'cat', '/www/index.html']))
        .stdout;
    };
    const lineControl = async (): Promise<{ readonly namespace: string; readonly uid: string }> => {
      const selector = ['--all-namespaces', '--field-selector=metadata.name=line-control'];
      const names = '{.items[0].metadata.namespace} {.items[0].metadata.uid}';
      const found = await node.kubectl(['get', 'deployments', ...selector, `--output=jsonpath=${names}`]);
      const [namespace = '', uid = ''] = found.stdout.split(' ');
      return { namespace, uid };
    };
    /** Somebody deletes what was released; the agent is to notice and to bring it back. */
    const expectRepair = async (): Promise<void> => {
      const { namespace, uid } = await lineControl();
      expect(uid).not.toBe('');
      succeed(
        await node.kubectl(['delete', 'deployment', 'line-control', `--namespace=${namespace}`, '--wait']),
      );
      await expect
        .poll(async () => (await lineControl()).uid, { timeout: 90_000, interval: 500 })
        .toMatch(new RegExp(`^(?!${uid}).+`));
    };

    it('starts from an image on a medium, and waits for its enrolment', async () => {
      succeed(await node.ctr(['images', 'import', '/media/usb/agent/fleet-agent.tar']));
      succeed(await node.kubectl(['apply', '--kustomize=/media/usb/agent']));
      await expect.poll(isRunning, { timeout: 60_000, interval: 500 }).toBe(true);
      await expect.poll(logs).toContain('waiting for the enrolment');
      expect((await agent('status')).stderr).toContain('NOT_ENROLLED');
      // The kubelet asks for the first time after a minute.
      succeed(await probe());
      succeed(await inContainer('rm', '/tmp/alive'));
      expect((await probe()).code).not.toBe(0);
    });

    it('is enrolled by a medium, and runs a release with its images from a medium', async () => {
      succeed(await agent(...ENROLL, office.rootSha256));
      succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
      await release();
      // Nothing but the roles of this release, and the lease of its own.
      const { stdout: rights } = succeed(await office.scheduler('rights', 'prod/factory-line'));
      await writeFile(join(media.path, 'agent/rights.yaml'), rights);
      succeed(await node.kubectl(['apply', '--filename=/media/usb/agent/rights.yaml']));
      const imported = succeed(await agent('import', '/media/fleet'));
      expect(imported.stdout).toMatch(/Brought \d+ container images?\./);
      expect(await page()).toBe('one\n');
      const events = await node.kubectl(['get', 'events', '-A', '--output=jsonpath={.items[*].reason}']);
      expect(events.stdout).not.toMatch(/Pulling|BackOff/);
      // The layers are with containerd, and nowhere a second time.
      const used = await shell('du -sk /var/lib/fleet-agent | cut -f1');
      expect(Number(used.stdout)).toBeLessThan(1024);
      const status = succeed(await agent('status'));
      expect(status.stdout).toMatch(/line-control\S* +healthy/);
      // The daemon has heard of it too, and what it watches it repairs.
      await expect.poll(logs, { timeout: 60_000 }).toContain('"msg":"looked"');
      await expectRepair();
    });

    it('sends its history to the office on the same medium', async () => {
      // The look that corrects may still be waiting for health: its last word comes with one of the next reports.
      const verdicts = async () => {
        succeed(await agent('reports', 'export', '/media/fleet'));
        succeed(await office.scheduler('reports', 'import', stick));
        const { rows } = (await office.status()) as {
          readonly rows: readonly { readonly verdict: string }[];
        };
        return rows.map(({ verdict }) => verdict);
      };
      await expect.poll(verdicts, { timeout: 90_000, interval: 2000 }).toEqual(['complies', 'complies']);
    });

    it('lets a person at the site change a granted value through kubectl exec, and no other', async () => {
      const settings = async (): Promise<string> => {
        const { namespace } = await lineControl();
        const field = '{.data.BELT_SPEED}';
        const words = ['get', 'configmap', 'line-settings', `--namespace=${namespace}`];
        return (await node.kubectl([...words, `--output=jsonpath=${field}`])).stdout;
      };
      const values = async (name: string) => {
        const shown = JSON.parse((await agent('values', '--json')).stdout) as {
          readonly values: readonly {
            readonly name: string;
            readonly value: unknown;
            readonly origin: string;
          }[];
        };
        return shown.values.find((one) => one.name === name);
      };
      const by = ['--person', 'anna', '--reason', 'the belt is worn'];
      const before = await values('beltSpeed');
      succeed(await agent('values', 'set', 'beltSpeed=9', ...by));
      expect(await settings()).toBe('9');
      expect(await values('beltSpeed')).toMatchObject({ value: 9, origin: 'local' });
      // The agent that runs beside the command leaves it as it is, and the pods run with it.
      await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('one\n');
      const refused = await agent('values', 'set', 'gateway=other.example', ...by);
      expect(refused.stderr).toContain('VALUE_NOT_GRANTED');
      expect((await agent('values', 'set', 'beltSpeed=99', ...by)).stderr).toContain('SITE_VALUES');
      succeed(await agent('reports', 'export', '/media/fleet'));
      const home = succeed(await office.scheduler('reports', 'import', stick));
      expect(home.stdout).toMatch(/plant-7\/line-1 {2}local value beltSpeed: .* -> 9, by anna/);
      succeed(await agent('values', 'unset', 'beltSpeed', ...by));
      expect(await values('beltSpeed')).toEqual(before);
      await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('one\n');
    });

    it('starts again after a kill, and continues', async () => {
      const container = (await agentPod('status.containerStatuses[0].containerID')).replace(
        'containerd://',
        '',
      );
      succeed(await node.ctr(['tasks', 'kill', '--signal=SIGKILL', container]));
      await expect
        .poll(() => agentPod('status.containerStatuses[*].restartCount'), { timeout: 60_000 })
        .toBe('1');
      await expect.poll(isRunning, { timeout: 60_000, interval: 500 }).toBe(true);
      await expect.poll(logs, { timeout: 60_000 }).toContain('"msg":"looked"');
      await expectRepair();
    });

    it('is restarted by the kubelet, through its probe, when it hangs', async () => {
      // The probe that is shipped, asked more often. A stopped process does not end on SIGTERM.
      const timing = { initialDelaySeconds: 10, periodSeconds: 5, failureThreshold: 2 };
      const containers = [{ name: 'agent', livenessProbe: timing }];
      const patch = { spec: { template: { spec: { terminationGracePeriodSeconds: 5, containers } } } };
      const inNamespace = ['--namespace=fleet-agent', 'deploy/fleet-agent'];
      succeed(await node.kubectl(['patch', ...inNamespace, `--patch=${JSON.stringify(patch)}`]));
      succeed(await node.kubectl(['rollout', 'status', ...inNamespace, '--timeout=180s']));
      const hung = await agentPod('status.containerStatuses[0].containerID');
      const restarts = () => agentPod('status.containerStatuses[*].restartCount');
      expect(await restarts()).toBe('0');
      succeed(await node.ctr(['tasks', 'kill', '--signal=SIGSTOP', hung.replace('containerd://', '')]));
      // Stopped, it writes the file no more; now it was five minutes ago.
      const age = 'fs.utimesSync(process.env.ALIVE_FILE, 0, Date.now() / 1000 - 301)';
      succeed(await inContainer('node', '-e', age));
      await expect.poll(restarts, { timeout: 120_000, interval: 1000 }).toBe('1');
      await expect.poll(isRunning, { timeout: 60_000, interval: 500 }).toBe(true);
      expect(await agentPod('status.containerStatuses[0].containerID')).not.toBe(hung);
      const events = ['get', 'events', '--namespace=fleet-agent', '--output=jsonpath={.items[*].reason}'];
      expect((await node.kubectl(events)).stdout).toContain('Unhealthy');
      // The agent that was started writes the file again, so that the probe is content.
      await expect.poll(async () => (await probe()).code, { timeout: 60_000, interval: 1000 }).toBe(0);
    });

    it('imports a medium without the images it has, while containerd has another socket', async () => {
      succeed(await agent('reports', 'export', '/media/fleet'));
      await makeImages('two\n', [LINE_CONTROL]);
      await release('--for', stick);
      const medium = parseMedium(await readFile(join(stick, 'fleet/medium.json')));
      expect(medium.bundles.flatMap(({ assumed }) => assumed).length).toBeGreaterThan(2);
      succeed(await shell('systemctl restart containerd'));
      // The kubelet, which starts the agent's command, takes a moment to reach the new socket.
      await expect.poll(async () => (await agent('--version')).code).toBe(0);
      const imported = await agent('import', '/media/fleet');
      expect(imported.code, imported.stdout + imported.stderr).toBe(0);
      expect(imported.stdout).toContain('Brought 1 container image.');
      await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('two\n');
    });

    it('refuses such a medium when the images were removed, and asks for them', async () => {
      succeed(await agent('reports', 'export', '/media/fleet'));
      await makeImages('three\n', [LINE_CONTROL]);
      await release('--for', stick);
      // What the kubelet does to images that nothing runs from when the disk is full.
      const listed = (await node.ctr(['images', 'ls'])).stdout.split('\n').slice(1).filter(Boolean);
      const images = listed.map((line) => line.split(/\s+/));
      const needed = new Set(
        images.filter(([name]) => /pause|fleet-agent/.test(name ?? '')).map(([, , digest]) => digest),
      );
      const gone = images.flatMap(([name = '', , digest]) => (needed.has(digest) ? [] : [name]));
      succeed(await node.ctr(['images', 'rm', '--sync', ...gone]));
      const refused = await agent('import', '/media/fleet');
      expect(refused.stderr).toContain('MISSING_BASE');
      expect(refused.code).toBe(5);
      await office.fill(stick, 'plant-7');
      succeed(await agent('import', '/media/fleet'));
      await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('three\n');
      succeed(await agent('reports', 'export', '/media/fleet'));
      const taken = succeed(await office.scheduler('reports', 'import', stick, '--json'));
      expect(taken.stdout).not.toMatch(/"alarm":\s*"/);
    });

    // In every run, a node with real pods loses its power in the quickstart, and images-containerd.test.ts kills an import of an image.
    if (LONG) {
      it('runs again after a power cut', { timeout: 480_000 }, async () => {
        await node.crash();
        await node.start();
        succeed(await shell('mount --make-rshared / && mount --bind /media/usb/fleet /media/fleet'));
        await expect.poll(isRunning, { timeout: 120_000, interval: 1000 }).toBe(true);
        await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('three\n');
        await expect
          .poll(async () => (await agent('status')).code, { timeout: 60_000, interval: 1000 })
          .toBe(0);
        await expectRepair();
      });

      it('completes an import that was killed several times', async () => {
        await makeImages('four\n');
        await release();
        const inAgent = ['exec', ...IN_AGENT, '--container=agent', '--', 'timeout', '-s', 'KILL'];
        for (const seconds of [0.4, 0.6, 0.8, 1, 1.4, 2])
          await node.kubectl([...inAgent, String(seconds), 'fleet-agent', 'import', '/media/fleet']);
        const imported = await agent('import', '/media/fleet');
        expect(imported.code, imported.stdout + imported.stderr).toBe(0);
        await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('four\n');
        expect((await node.ctr(['images', 'check'])).stdout).not.toContain('incomplete');
      });
    }
  },
);
