import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseMedium } from '#bundles/formats/medium/medium';
import { EXAMPLE_IMAGES } from '../../examples/make-images.ts';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { importAgentBase } from '../harness/hosts/agent-base-image.ts';
import { copyBuiltAgent } from '../harness/run/built-programs.ts';
import { LONG } from '../harness/run/long.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { joinNode, type KubernetesNode, startNode, WORK_TREE } from '../harness/kubernetes/node.ts';
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
const INSTALL =
  'sh /media/usb/agent/install.sh --offline --config /media/usb/agent/agent.yaml --root-sha256 ';
/** The volume of the agent's state, a directory of the node. */
const STATE_VOLUME = 'fleet-agent-state';
const CHART = `${WORK_TREE}/deploy/chart`;

describeWith(
  ['nodeBase', 'kube', 'busybox', 'podman', 'helm'],
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
      // A platform engineer puts these onto the stick beside the medium: the manifests, the image, a configuration.
      await cp(join(REPOSITORY, 'deploy/kubernetes'), join(media.path, 'agent'), { recursive: true });
      await writeFile(join(media.path, 'agent/agent.yaml'), 'interval: 10s\n');
      node = await startNode('agent-in-cluster', {
        ...paths,
        workTree: true,
        binds: [
          { from: media.path, to: '/media/usb' },
          { from: paths.helm, to: '/usr/local/bin/helm', readOnly: true },
        ],
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
    const agent = async (...words: readonly string[]) => {
      // As a medium that is mounted for this user (uid=65532): all files on it are its own.
      succeed(await shell('chown -R 65532:65532 /media/usb/fleet'));
      return inContainer('fleet-agent', ...words);
    };
    const loaderPod = async (field: string): Promise<string> => {
      const selector = ['--namespace=fleet-agent', '--selector=app.kubernetes.io/name=fleet-image-loader'];
      return (await node.kubectl(['get', 'pods', ...selector, `--output=jsonpath={.items[*].${field}}`]))
        .stdout;
    };
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

    const install = () => shell(INSTALL + office.rootSha256);
    /** The container of line-control: another one, or one that was started again, reads differently. */
    /** Pods and their containers, without those that an update has replaced and that still end. */
    const running = async (): Promise<string> => {
      const words = ['get', 'pods', '--all-namespaces', '--selector=app=line-control', '--output=json'];
      const { items } = JSON.parse(succeed(await node.kubectl(words)).stdout) as {
        readonly items: readonly {
          readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string };
          readonly status: { readonly containerStatuses?: readonly { readonly containerID: string }[] };
        }[];
      };
      return items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .flatMap(({ metadata, status: { containerStatuses = [] } }) => [
          metadata.uid,
          ...containerStatuses.map(({ containerID }) => containerID),
        ])
        .join(' ');
    };

    it('is installed by one command from a medium, and waits for its enrolment', async () => {
      const installed = succeed(await install());
      expect(installed.stdout).toContain('The agent has no rights yet');
      expect(installed.stdout).toContain(`--root-sha256 ${office.rootSha256}`);
      await expect.poll(isRunning, { timeout: 60_000, interval: 500 }).toBe(true);
      await expect.poll(logs).toContain('waiting for the enrolment');
      expect((await agent('status')).stderr).toContain('NOT_ENROLLED');
      // The kubelet asks for the first time after a minute.
      succeed(await probe());
      // The agent may write the file again before the probe looks.
      const probeWithoutFile = async (): Promise<number> => {
        succeed(await inContainer('rm', '-f', '/tmp/alive'));
        return (await probe()).code;
      };
      await expect.poll(probeWithoutFile, { timeout: 60_000 }).not.toBe(0);
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
      // The layers are with containerd and in the folder of the loaders, and not in the state.
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

    it('imports such a medium when the node lost the images, which the folder of the loaders still has', async () => {
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
      succeed(await agent('import', '/media/fleet'));
      await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('three\n');
      succeed(await agent('reports', 'export', '/media/fleet'));
      const taken = succeed(await office.scheduler('reports', 'import', stick, '--json'));
      expect(taken.stdout).not.toMatch(/"alarm":\s*"/);
    });

    it('loads nothing that somebody with the rights of its pod puts into the folder', async () => {
      const before = (await node.ctr(['images', 'ls', '-q'])).stdout;
      // A whole offer whose documents nobody of the fleet signed.
      const forged = `
        const fs = require('fs'), crypto = require('crypto'), at = process.env.FLEET_AGENT_IMAGE_FOLDER + '/in';
        const offers = fs.readdirSync(at + '/offers').map((name) => JSON.parse(fs.readFileSync(at + '/offers/' + name)));
        const put = (bytes) => {
          const hex = crypto.createHash('sha256').update(bytes).digest('hex');
          fs.writeFileSync(at + '/blobs/sha256/' + hex, bytes);
          return 'sha256:' + hex;
        };
        const read = (digest) => fs.readFileSync(at + '/blobs/sha256/' + digest.slice(7));
        const [offer] = offers;
        const manifest = JSON.parse(read(offer.bundle));
        const config = JSON.parse(read(manifest.config.digest));
        for (const image of config.closure) image.names = image.names?.map((name) => name.replace(/^[^/]+/, 'evil.example'));
        manifest.config.digest = put(JSON.stringify(config));
        manifest.config.size = JSON.stringify(config).length;
        const bundle = put(JSON.stringify(manifest));
        fs.writeFileSync(at + '/offers/' + bundle.slice(7) + '.json', JSON.stringify({ ...offer, bundle }));
        fs.writeFileSync(at + '/ask.json', JSON.stringify({ id: 'forged' }));
        console.log(bundle);`;
      const bundle = succeed(await inContainer('node', '-e', forged)).stdout.trim();
      const answers = async () => succeed(await shell('cat /var/lib/fleet-images/nodes/*.json')).stdout;
      await expect
        .poll(answers, { timeout: 60_000, interval: 500 })
        .toMatch(/"id":"forged","images".*"isBusy":false/);
      const { refused } = JSON.parse(await answers()) as {
        readonly refused: readonly { readonly digest: string; readonly code: string }[];
      };
      expect(refused.map(({ code }) => code)).toEqual(['EXTRA_BUNDLE']);
      expect(refused[0]?.digest).toBe(bundle);
      expect((await node.ctr(['images', 'ls', '-q'])).stdout).toBe(before);
      // The next import puts the folder right.
      succeed(await inContainer('rm', `/var/lib/fleet-images/in/offers/${bundle.slice(7)}.json`));
    });

    it('reaches neither the node nor its containerd, and the loader has no account and no network of its own', async () => {
      const can = async (...argv: readonly string[]) => (await inContainer(...argv)).code === 0;
      expect(await can('ls', '/run/containerd')).toBe(false);
      expect(await can('sh', '-c', '! id -u | grep -qx 0')).toBe(true);
      expect(await can('touch', '/opt/x')).toBe(false);
      // What loaders remember belongs to another user, in a folder of root.
      const images = '/var/lib/fleet-images';
      expect(await can('ls', `${images}/nodes`)).toBe(true);
      for (const script of ['echo > nodes/agent-in-cluster.json', 'rm nodes/*', 'mv nodes old', 'mkdir x'])
        expect(await can('sh', '-c', `cd ${images} && ${script}`), script).toBe(false);
      const inLoader = (...argv: readonly string[]) =>
        node.kubectl(['exec', '--namespace=fleet-agent', 'daemonset/fleet-image-loader', '--', ...argv]);
      expect((await inLoader('ls', '/var/run/secrets/kubernetes.io')).code).not.toBe(0);
      expect((await inLoader('touch', '/run/containerd/x')).code).not.toBe(0);
      const label = ['get', 'namespace', 'fleet-agent', '--output=jsonpath={.metadata.labels}'];
      expect((await node.kubectl(label)).stdout).toContain(
        '"pod-security.kubernetes.io/enforce":"restricted"',
      );
      expect(await loaderPod('status.containerStatuses[*].restartCount')).toBe('0');
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

    it('is upgraded by the same command, and what runs stays', async () => {
      await expect.poll(running).toMatch(/containerd:/);
      const before = await running();
      const { stdout } = succeed(await install());
      expect(stdout).toContain('daemonset.apps/fleet-image-loader unchanged');
      expect(await running()).toBe(before);
      expect((await agent('status')).code).toBe(0);
      // Its state is on this node, and the volume says so.
      const affinity = '--output=jsonpath={.spec.nodeAffinity..matchExpressions}';
      const { stdout: pinned } = await node.kubectl(['get', 'persistentvolume', STATE_VOLUME, affinity]);
      expect(JSON.parse(pinned)).toEqual([
        { key: 'kubernetes.io/hostname', operator: 'In', values: ['agent-in-cluster'] },
      ]);
      // On a further node it would be a new agent: there is no directory for it.
      const further = succeed(
        await shell('sh /media/usb/agent/install.sh --offline --node --state /var/lib/elsewhere'),
      );
      expect(further.stdout).toBe('This node is ready for the images of the agent.\n');
      expect((await shell('test -e /var/lib/elsewhere')).code).toBe(1);
    });

    if (LONG) {
      it('stays on the node of its state when another node joins, and moves with its state', {
        timeout: 900_000,
      }, async () => {
        const binds = [{ from: media.path, to: '/media/usb' }];
        await using other = await joinNode('another-node', node, { ...paths, binds });
        const there = async (script: string) => succeed(await other.exec(['/bin/sh', '-c', script])).stdout;
        await there('mount --make-rshared /');
        expect(await there('sh /media/usb/agent/install.sh --offline --node')).toContain(
          'This node is ready',
        );
        const inNamespace = ['--namespace=fleet-agent', '--timeout=180s'];
        succeed(await node.kubectl(['rollout', 'status', 'daemonset/fleet-image-loader', ...inNamespace]));
        const loaders = (await loaderPod('spec.nodeName')).split(' ');
        expect(loaders.toSorted()).toEqual(['agent-in-cluster', 'another-node']);

        // As docs/operations/cluster.md says, where no volume is shared.
        const images = async () => (await other.ctr(['images', 'ls', '-q'])).stdout;
        expect(await images()).not.toContain('line-control');
        succeed(await shell('cp -a /var/lib/fleet-images/in /media/usb/in'));
        await there('cp -a /media/usb/in/. /var/lib/fleet-images/in/');
        await expect.poll(images, { timeout: 120_000, interval: 1000 }).toContain('line-control');
        const answer = await there('cat /var/lib/fleet-images/nodes/another-node.json');
        expect(JSON.parse(answer)).toMatchObject({ refused: [] });

        // A directory of the same name is no state: the agent waits for its own node.
        await there('install -d -o 65532 -g 65532 -m 700 /var/lib/fleet-agent');
        succeed(await node.kubectl(['cordon', 'agent-in-cluster']));
        const pods = ['pods', '--selector=app.kubernetes.io/name=fleet-agent'];
        succeed(await node.kubectl(['delete', ...pods, '--wait', ...inNamespace]));
        await expect
          .poll(() => agentPod('status.conditions[*].message'), { timeout: 60_000, interval: 500 })
          .toMatch(/node affinity/);
        expect(await agentPod('spec.nodeName')).toBe('');
        succeed(await node.kubectl(['uncordon', 'agent-in-cluster']));
        // An upgrade that is typed on the other node leaves it there, too.
        await there('rmdir /var/lib/fleet-agent');
        await there(INSTALL + office.rootSha256);
        await there('test ! -e /var/lib/fleet-agent');
        expect(await agentPod('spec.nodeName')).toBe('agent-in-cluster');
        await expect
          .poll(async () => (await agent('status')).code, { timeout: 60_000, interval: 1000 })
          .toBe(0);

        // As docs/operations/cluster.md says, there and back.
        const here = async (script: string) => succeed(await shell(script)).stdout;
        for (const [from, to, name] of [
          [here, there, 'another-node'],
          [there, here, 'agent-in-cluster'],
        ] as const) {
          const scale = ['scale', 'deployment', 'fleet-agent', '--replicas=0', '--namespace=fleet-agent'];
          succeed(await node.kubectl(scale));
          succeed(await node.kubectl(['wait', '--for=delete', ...pods, ...inNamespace]));
          await from('rm -rf /media/usb/state && cp -a /var/lib/fleet-agent /media/usb/state');
          await to(
            'cp -a /media/usb/state /var/lib/fleet-agent.new && rm -rf /var/lib/fleet-agent && mv /var/lib/fleet-agent.new /var/lib/fleet-agent',
          );
          const claim = ['persistentvolumeclaim', STATE_VOLUME, '--namespace=fleet-agent'];
          succeed(await node.kubectl(['delete', ...claim]));
          succeed(await node.kubectl(['delete', 'persistentvolume', STATE_VOLUME]));
          await to(INSTALL + office.rootSha256);
          expect(await agentPod('spec.nodeName')).toBe(name);
          await expect
            .poll(async () => (await agent('status')).code, { timeout: 60_000, interval: 1000 })
            .toBe(0);
        }
        succeed(await node.kubectl(['delete', 'node', 'another-node']));
      });
    }

    // The chart has the same objects (integration/kubernetes/chart.test.ts); on a node it and the paths of k3s are tried in the long run.
    if (LONG) {
      describe('by Helm', () => {
        const helm = (...words: readonly string[]) => node.exec(['env', 'HOME=/root', 'helm', ...words]);
        const inFleet = '--namespace=fleet-agent';
        const values = (): readonly string[] =>
          [
            `image.repository=${IMAGE.split(':')[0]}`,
            'image.tag=1',
            'config.interval=10s',
            'state.hostPath=/var/lib/fleet-agent',
            `offline.rootSha256=${office.rootSha256}`,
          ].flatMap((value) => ['--set-string', value]);
        const restricted = async (name: string): Promise<void> => {
          succeed(await node.kubectl(['create', 'namespace', name]));
          const level = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
          succeed(await node.kubectl(['label', 'namespace', name, ...level]));
        };
        const rolledOut = async (): Promise<void> => {
          for (const one of ['daemonset/fleet-image-loader', 'deployment/fleet-agent'])
            succeed(await node.kubectl(['rollout', 'status', inFleet, one, '--timeout=120s']));
        };

        it('is the same agent after the manifests were removed, and nothing that runs is touched', async () => {
          const before = await running();
          expect(before).not.toBe('');
          succeed(
            await node.kubectl([
              'delete',
              '--kustomize=/media/usb/agent/offline',
              '--wait',
              '--ignore-not-found',
            ]),
          );
          await node.kubectl(['delete', 'persistentvolume', 'fleet-agent-state', '--ignore-not-found']);
          expect(await running()).toBe(before);
          await restricted('fleet-agent');
          // A chart from before the latest values: what the new one adds is not in its values.yaml.
          const older = [
            `cp -r ${CHART} /tmp/older && cd /tmp/older`,
            "sed -i 's/^version: .*/version: 0.0.1/' Chart.yaml",
            "sed -i '/^nodeSelector/d; /imagesClaim/d' values.yaml",
          ];
          succeed(await shell(older.join(' && ')));
          const words = ['upgrade', '--install', 'fleet-agent', '/tmp/older', inFleet, ...values()];
          const { stdout } = succeed(await helm(...words, '--set', 'offline.enabled=true'));
          expect(stdout).toContain('fleet-scheduler rights <channel>');
          await rolledOut();
          await expect
            .poll(async () => (await agent('status')).code, { timeout: 60_000, interval: 1000 })
            .toBe(0);
          expect(await running()).toBe(before);
        });

        it('is upgraded from the values of an older chart, and nothing that runs is touched', async () => {
          const before = await running();
          const words = ['upgrade', 'fleet-agent', CHART, inFleet, '--reset-then-reuse-values'];
          succeed(await helm(...words, '--set', 'config.interval=11s'));
          await rolledOut();
          await expect
            .poll(async () => (await agent('status')).code, { timeout: 60_000, interval: 1000 })
            .toBe(0);
          expect(await running()).toBe(before);
          await makeImages('five\n', [LINE_CONTROL]);
          await release('--for', stick);
          succeed(await agent('import', '/media/fleet'));
          await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('five\n');
        });

        it('is removed, and neither what runs nor the agent of another release is touched', async () => {
          succeed(await shell('install -d -o 65532 -g 65532 /var/lib/fleet-agent-edge'));
          await restricted('edge');
          const image = [`image.repository=${IMAGE.split(':')[0]}`, 'image.tag=1'];
          const edge = [...image, 'state.hostPath=/var/lib/fleet-agent-edge'];
          const words = [
            'install',
            'edge',
            CHART,
            '--namespace=edge',
            '--set=clusterAdmin=true',
            ...edge.flatMap((value) => ['--set-string', value]),
          ];
          const { stdout } = succeed(await helm(...words));
          expect(stdout).toContain('may do everything');
          expect(stdout).not.toContain('may apply nothing');
          const rollout = [
            'rollout',
            'status',
            '--namespace=edge',
            'deployment/fleet-agent',
            '--timeout=120s',
          ];
          succeed(await node.kubectl(rollout));
          const shown = {
            apiVersion: 'fleet-ferry.internal/v1alpha1',
            kind: 'FleetAgent',
            metadata: { name: 'edge' },
          };
          const input = JSON.stringify(shown);
          succeed(await node.kubectl(['apply', '--namespace=edge', '-f', '-'], { input }));
          const before = await running();
          succeed(await helm('uninstall', 'fleet-agent', inFleet, '--wait'));
          expect(await running()).toBe(before);
          expect(await page()).toBe('five\n');
          succeed(await node.kubectl(['get', 'fleetagent', 'edge', '--namespace=edge']));
          // Its class is there, too, without which no pod of it could be made again.
          succeed(await node.kubectl(['delete', 'pods', '--namespace=edge', '--all', '--wait']));
          succeed(await node.kubectl(rollout));
          succeed(await helm('uninstall', 'edge', '--namespace=edge', '--wait'));
        });
      });

      it('is installed by the same command on the paths of k3s, whose ctr is a link to a program of many names', async () => {
        const paths = [
          'install -d /run/k3s/containerd /var/lib/rancher/k3s/data/1/bin',
          'mount --bind /run/containerd /run/k3s/containerd',
          'cp /usr/bin/ctr /var/lib/rancher/k3s/data/1/bin/k3s',
          'ln -s k3s /var/lib/rancher/k3s/data/1/bin/ctr',
          'ln -s 1 /var/lib/rancher/k3s/data/current',
        ];
        succeed(await shell(paths.join(' && ')));
        const before = await running();
        succeed(await install());
        const volumes = ['get', 'persistentvolumes', '--output=jsonpath={.items[*].spec.hostPath.path}'];
        expect((await node.kubectl(volumes)).stdout.split(' ').toSorted()).toEqual([
          '/media',
          '/run/k3s/containerd',
          '/var/lib/fleet-agent',
          '/var/lib/fleet-images',
          '/var/lib/rancher/k3s/data/current/bin/ctr',
        ]);
        await makeImages('six\n', [LINE_CONTROL]);
        await release('--for', stick);
        expect(await running()).toBe(before);
        succeed(await agent('import', '/media/fleet'));
        await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('six\n');
        const examined = JSON.parse((await agent('doctor', '--json')).stdout) as {
          readonly findings: readonly { readonly name: string; readonly verdict: string }[];
        };
        const loader = examined.findings.find(({ name }) => name.startsWith('image loader'));
        expect(loader).toMatchObject({ name: 'image loader of node agent-in-cluster', verdict: 'good' });
      });

      it('is upgraded by the same command from an agent that was root, and what runs stays', async () => {
        for (const one of ['deployments', 'daemonsets', 'persistentvolumeclaims'])
          succeed(await node.kubectl(['delete', one, '--all', '--namespace=fleet-agent', '--wait']));
        succeed(await node.kubectl(['delete', 'persistentvolumes', '--all', '--wait']));
        succeed(await shell('chown -R root:root /var/lib/fleet-agent && rm -r /var/lib/fleet-images'));
        const old = `${WORK_TREE}/test/fixtures/kubernetes/offline-as-root.yaml`;
        succeed(await node.kubectl(['apply', `--filename=${old}`]));
        const inNamespace = ['--namespace=fleet-agent', 'deployment/fleet-agent', '--timeout=180s'];
        succeed(await node.kubectl(['rollout', 'status', ...inNamespace]));
        expect((await agent('status')).code).toBe(0);
        const before = await running();
        succeed(await install());
        expect((await agent('status')).code).toBe(0);
        expect((await inContainer('id', '-u')).stdout.trim()).toBe('65532');
        expect(await running()).toBe(before);
        // The folder of the loaders is empty: the newest medium again, a whole one, fills it.
        await makeImages('seven\n', [LINE_CONTROL]);
        await release();
        succeed(await agent('import', '/media/fleet'));
        await expect.poll(page, { timeout: 120_000, interval: 1000 }).toBe('seven\n');
      });
    }
  },
);
