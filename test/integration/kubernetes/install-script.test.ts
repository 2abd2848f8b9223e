import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { kubectlOf } from '../../harness/parts/kube.ts';
import { asRoot } from '../../harness/hosts/as-root.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const ROOT = '9f'.repeat(32);

/** The command of docs/install.md for a cluster that reaches its hub, with a whole SHA-256. @param begin of the block */
const documented = async (begin = 'sh deploy/kubernetes/install.sh --image'): Promise<string> => {
  const page = await readFile(join(REPOSITORY, 'docs/install.md'), 'utf8');
  const blocks = [...page.matchAll(/```text\n(.*?)```/gs)].map(([, text = '']) => text);
  const typed = blocks.find((text) => text.startsWith(begin)) ?? '';
  return typed.replaceAll(/(?<= )deploy\//g, `${REPOSITORY}/deploy/`).replaceAll('9f2c...e1', ROOT);
};

// From a stick, on a node with real pods: test/e2e/agent-in-cluster.test.ts.
describeOnKubernetes(
  ['kwok', 'helm', 'containerd'],
  'install.sh on a cluster that reaches its hub',
  ({ kube }, { kwok, helm, containerd }) => {
    let cluster: OwnCluster;
    let folder: TemporaryDirectory;

    beforeAll(async () => {
      cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
      folder = await temporaryDirectory('install-script');
      await writeFile(join(folder.path, 'token'), 'one-time-token\n');
    });
    afterAll(async () => {
      await cluster?.[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
    });

    const environment = () => {
      const programs = [kubectlOf(kube), helm, containerd].map((program) => dirname(program));
      return {
        PATH: [...programs, process.env['PATH'] ?? ''].join(delimiter),
        KUBECONFIG: cluster.kubeconfig,
      };
    };
    const type = async (line: string) =>
      runCommand(['sh', '-c', line], { cwd: folder.path, env: { ...process.env, ...environment() } });
    const removeAgent = async (): Promise<void> => {
      const kinds = 'deployments,persistentvolumeclaims';
      succeed(await cluster.kubectl(['delete', kinds, '--all', '--namespace=fleet-agent', '--wait']));
      succeed(await cluster.kubectl(['delete', 'persistentvolumes', '--all', '--wait']));
    };
    const read = async (...words: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await cluster.kubectl(['--namespace=fleet-agent', 'get', ...words]);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    /** No node of this cluster has disks: the claim needs a volume that is given. */
    const withState = async (more = ''): Promise<string> =>
      `${(await documented()).trim()} --state /var/lib/fleet-agent ${more}`;

    it('installs the agent by the documented command, and waits until it runs', async () => {
      const { code, stdout, stderr } = await type(await withState());
      expect(code, stdout + stderr).toBe(0);
      expect(stdout).toContain('The agent has no rights yet');
      expect(await read('configmap', 'fleet-agent', '--output=jsonpath={.data.agent\\.yaml}')).toBe(
        "registry: 'oci://registry.example/fleet'\nhub: 'https://hub.example:8443'\n",
      );
      const secret = JSON.parse(await read('secret', 'fleet-agent-enrolment', '--output=json')) as {
        readonly data: Record<string, string>;
      };
      const clear = Object.entries(secret.data).map(([key, text]) => [
        key,
        Buffer.from(text, 'base64').toString(),
      ]);
      expect(Object.fromEntries(clear)).toEqual({
        token: 'one-time-token\n',
        fleet: 'halden',
        site: 'plant-7',
        name: 'line-1',
        channel: 'prod/edge',
        rootSha256: ROOT,
      });
      expect(stdout + stderr).not.toContain('one-time-token');
      expect(await read('deployment', 'fleet-agent', '--output=jsonpath={..image}')).toBe(
        'registry.example/fleet-agent:0.1 registry.example/fleet-agent:0.1',
      );
    });

    it('changes nothing when it is run again, and the image alone with another one', async () => {
      const kinds = 'deployments,secrets,configmaps,serviceaccounts,roles,networkpolicies,persistentvolumes';
      const versions = () =>
        read(
          kinds,
          '--output=jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}',
        );
      const before = await versions();
      const again = await type(await withState());
      expect(again.code, again.stderr).toBe(0);
      expect(await versions()).toBe(before);
      const upgraded = await type((await withState()).replace('fleet-agent:0.1', 'fleet-agent:0.2'));
      expect(upgraded.code, upgraded.stderr).toBe(0);
      const changed = (await versions()).split('\n').filter((line) => !before.includes(line));
      expect(changed).toEqual([expect.stringMatching(/^Deployment\/fleet-agent /)]);
    });

    it('starts the agent again with another configuration', async () => {
      const generation = () => read('deployment', 'fleet-agent', '--output=jsonpath={.metadata.generation}');
      const line = (await withState()).replace('fleet-agent:0.1', 'fleet-agent:0.2');
      const before = await generation();
      const moved = await type(line.replace('--hub https://hub.example', '--hub https://other.example'));
      expect(moved.code, moved.stderr).toBe(0);
      expect(await generation()).toBe(String(Number(before) + 1));
    });

    it('keeps the node that the volume of the state names, as documented for it', async () => {
      const page = await readFile(join(REPOSITORY, 'docs/operations/cluster.md'), 'utf8');
      const [typed = ''] = /^kubectl patch persistentvolume .*\\\n.*$/m.exec(page) ?? [];
      const [node = ''] = (await read('nodes', '--output=jsonpath={.items[*].metadata.name}')).split(' ');
      const patched = await type(typed.replace('node-1', node));
      expect(patched.code, patched.stderr).toBe(0);
      const again = await type(await withState());
      expect(again.code, again.stderr).toBe(0);
      const named = '--output=jsonpath={.spec.nodeAffinity..matchExpressions}';
      expect(JSON.parse(await read('persistentvolume', 'fleet-agent-state', named))).toEqual([
        { key: 'kubernetes.io/hostname', operator: 'In', values: [node] },
      ]);
    });

    it('keeps what an administrator wrote about the nodes of that volume, by whichever label', async () => {
      await removeAgent();
      const first = await type(await withState());
      expect(first.code, first.stderr).toBe(0);
      const zone = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['hall-2', 'hall-3'] };
      succeed(await cluster.kubectl(['label', 'nodes', '--all', `${zone.key}=hall-2`]));
      const spec = { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [zone] }] } } };
      const patch = `--patch=${JSON.stringify({ spec })}`;
      succeed(
        await cluster.kubectl(['patch', 'persistentvolume', 'fleet-agent-state', '--type=merge', patch]),
      );
      const again = await type(await withState());
      expect(again.code, again.stderr).toBe(0);
      expect(
        JSON.parse(await read('persistentvolume', 'fleet-agent-state', '--output=jsonpath={.spec}')),
      ).toMatchObject(spec);
    });

    it('does not change a former agent on a machine that is no node, or not the one of its state', async () => {
      await removeAgent();
      const former = join(REPOSITORY, 'test/fixtures/kubernetes/offline-as-root.yaml');
      succeed(await cluster.kubectl(['apply', `--filename=${former}`]));
      const set = Object.entries(environment()).map(([name, value]) => `${name}=${value}`);
      const offline = async (more = ''): Promise<string> => {
        const script = `
          mount -t tmpfs none /var/lib && mount -t tmpfs none /media
          sh ${REPOSITORY}/deploy/kubernetes/install.sh --offline --image a/b:1 --root-sha256 ${ROOT} ${more}
          echo "ended with $?"; find /var/lib /media -mindepth 1`;
        const argv = asRoot(['env', ...set, 'unshare', '--mount', 'sh', '-c', script]);
        const { stdout, stderr } = succeed(await runCommand(argv));
        expect(stdout).toBe('ended with 1\n');
        return stderr;
      };
      expect(await offline()).toMatch(/^install\.sh: this machine is no node of the cluster/);
      const bootID = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
      const machineID = (await readFile('/etc/machine-id', 'utf8').catch(() => '')).trim();
      const describeNode = async (nodeInfo: object): Promise<void> => {
        const patch = [`--patch=${JSON.stringify({ status: { nodeInfo } })}`, '--subresource=status'];
        succeed(await cluster.kubectl(['patch', 'node', 'node-1', ...patch]));
      };
      if (machineID !== '') {
        // As a node of kind: a container of this machine.
        await describeNode({ bootID, machineID: '0'.repeat(32) });
        expect(await offline()).toMatch(/^install\.sh: this machine is no node of the cluster/);
      }
      for (const known of [machineID, '']) {
        await describeNode({ bootID, machineID: known });
        expect(await offline()).toMatch(
          /^install\.sh: the agent's state is \/var\/lib\/fleet-agent of another node/,
        );
      }
      expect(await offline('--state /var/lib/other')).toBe(
        "install.sh: the agent's state is in /var/lib/fleet-agent: copy it to /var/lib/other of this node first, or leave --state out\n",
      );
      const generation = '--output=jsonpath={.metadata.generation} {.spec.replicas}';
      expect(await read('deployment', 'fleet-agent', generation)).toBe('1 1');
    });

    it('leaves no copy of the token behind a signal', async () => {
      const temporary = join(folder.path, 'temporary');
      await mkdir(temporary);
      const slow = `mkdir -p slow; printf '#!/bin/sh\\ncase "$*" in *apply*) kill -TERM $PPID; sleep 1; esac\\n' > slow/kubectl; chmod +x slow/kubectl`;
      const { code } = await type(
        `${slow}; PATH="$PWD/slow:$PATH" TMPDIR=${temporary} ${(await withState()).replaceAll('\\\n', '')}`,
      );
      expect(code).toBe(143);
      expect(await readdir(temporary)).toEqual([]);
    });

    it('changes nothing where kubectl reaches no cluster, and names KUBECONFIG', async () => {
      const { code, stdout, stderr } = await type(`export KUBECONFIG=/dev/null\n${await withState()}`);
      expect(code).toBe(1);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^install\.sh: kubectl reaches no cluster, so nothing was changed/);
    });

    it('gives every right only when it is asked to', async () => {
      const bindings = ['clusterrolebindings', '--output=jsonpath={.items[*].metadata.name}'];
      expect((await read(...bindings)).split(' ')).not.toContain('fleet-agent');
      const { code, stdout, stderr } = await type(await withState('--cluster-admin'));
      expect(code, stderr).toBe(0);
      expect(stdout).not.toContain('no rights yet');
      expect((await read(...bindings)).split(' ')).toContain('fleet-agent');
    });

    it.each([
      ['--offline', /--root-sha256 must be 64 hexadecimal digits/],
      [`--root-sha256 ${ROOT}`, /--image is missing/],
      [
        `--root-sha256 ${ROOT} --image a/b:1 --site s`,
        /--fleet, --site, --name, --channel and --token-file are needed/,
      ],
      [
        `--root-sha256 ${ROOT} --image a/b:1 --fleet f --site s --name n --channel c/d --token-file none`,
        /there is no file none/,
      ],
      [`--root-sha256 ${ROOT} --offline --config none`, /there is no file none/],
      ['--root', /there is no option --root; --help lists them/],
      ['--image', /--image needs a value/],
      [
        `--root-sha256 ${ROOT} --offline --image registry.example:5000/a/b`,
        /--image registry\.example:5000\/a\/b has no tag: write the version/,
      ],
      [`--root-sha256 ${ROOT.toUpperCase()}`, /--root-sha256 must be 64 hexadecimal digits/],
      [`--root-sha256 ${ROOT} --node`, /--node is for --offline/],
    ])('refuses "%s" with one line and changes nothing', async (options, sentence) => {
      const { code, stdout, stderr } = await type(`sh ${REPOSITORY}/deploy/kubernetes/install.sh ${options}`);
      expect(code).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toMatch(sentence);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    });

    it('is followed by the documented commands of Helm, which leave the definition unchanged', async () => {
      await cluster.kubectl(['delete', 'namespace', 'fleet-agent', '--wait']);
      const { code, stdout, stderr } = await type(
        `set -e\n${await documented('kubectl create namespace fleet-agent')}`,
      );
      expect(code, stdout + stderr).toBe(0);
      expect(stdout).toContain('STATUS: deployed');
      expect(await read('deployment', 'fleet-agent', '--output=jsonpath={..initContainers..name}')).toContain(
        'enroll',
      );
      const owner = '--output=jsonpath={.metadata.annotations.meta\\.helm\\.sh/release-name}';
      expect(await read('customresourcedefinition', 'fleetagents.fleet-ferry.internal', owner)).toBe('');
      expect(await read('configmap', 'fleet-agent', owner)).toBe('fleet-agent');
    });

    it('prints its options', async () => {
      const { code, stdout } = await type(`sh ${REPOSITORY}/deploy/kubernetes/install.sh --help`);
      expect(code).toBe(0);
      expect(stdout).toContain('--print         prints what would be applied, and changes nothing');
      expect(stdout).not.toContain('set -eu');
    });
  },
);
