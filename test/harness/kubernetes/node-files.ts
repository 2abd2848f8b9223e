/**
 * What a factory host needs to be a Kubernetes node with its own control plane: systemd units and configurations. They
 * are bound into it read-only, at the paths that NODE_PATHS names.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bind } from '../hosts/factory-host.ts';
import { kubectlOf } from '../parts/kube.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { makeBusyboxImage } from './busybox-image.ts';
import { GO_MEMORY } from './component.ts';
import { formatKubeconfig } from './kubeconfig.ts';

/** Folders of the host that hold what must be there after a power cut, on a real disk. */
export const NODE_DISKS = ['/var/lib/containerd', '/var/lib/kubelet', '/var/lib/kubernetes'] as const;

/** Addresses that no pod and no neighbour has, of the first node and of one that joins it. A kubelet wants one that is not 127.*. */
export const NODE_ADDRESSES = ['10.204.0.1', '10.204.0.2'] as const;
const [NODE_ADDRESS, JOINED_ADDRESS] = NODE_ADDRESSES;
/** The first of the service range, by which pods know their API server. Without kube-proxy, it is one of the node's own. */
export const API_ADDRESS = '10.96.0.1';
const SERVICE_RANGE = '10.96.0.0/24';
const POD_RANGE = '10.85.0.0/24';
const PAUSE_IMAGE = 'registry.invalid/pause:1';

const SETTINGS = '/etc/kubernetes';
const STATE = '/var/lib/kubernetes';
const CERTIFICATE = `${STATE}/certificates/apiserver.crt`;
const KUBE = '/usr/local/lib/kubernetes/kube';
const SOCKET = 'unix:///run/containerd/containerd.sock';

/** By what a node joins the cluster of another: that one's file for clients, and the certificate that the file names. */
export type Admission = { readonly kubeconfig: string; readonly certificate: string };

/** What a node that joins needs of the one with the control plane. @param read a file of that one */
export const readAdmission = async (read: (file: string) => Promise<string>): Promise<Admission> => ({
  kubeconfig: await read(`${SETTINGS}/kubeconfig`),
  certificate: await read(CERTIFICATE),
});

/** Writes the files of a node called `name` to `folder`, and says what has to be bound where. Without an admission it has a control plane of its own. */
export const writeNodeFiles = async (
  folder: string,
  name: string,
  programs: { readonly kube: string; readonly busybox: string },
  admission?: Admission,
): Promise<readonly Bind[]> => {
  const settings = join(folder, 'settings');
  const units = join(folder, 'units');
  await mkdir(settings);
  await mkdir(join(units, 'multi-user.target.wants'), { recursive: true });
  const files = {
    ...(admission ?? newControlPlane()),
    'kubelet.json': JSON.stringify(kubeletAt(admission ? JOINED_ADDRESS : NODE_ADDRESS)),
    'resolv.conf': 'nameserver 127.0.0.1\n',
    'containerd.toml': CONTAINERD,
    'pods.conflist': JSON.stringify(POD_NETWORK),
    // The kubelet wants these kernel settings, and may not set them for the whole machine: it reads stand-ins.
    overcommit_memory: '1\n',
    panic: '10\n',
    panic_on_oops: '1\n',
  };
  for (const [file, text] of Object.entries(files)) await writeFile(join(settings, file), text);
  for (const [unit, text] of Object.entries(admission ? joinedUnits(name) : unitsOf(name))) {
    await writeFile(join(units, unit), text);
    await symlink(`../${unit}`, join(units, 'multi-user.target.wants', unit));
  }
  await makePauseImage(programs.busybox, join(settings, 'pause.tar'));
  const bind = (from: string, to: string): Bind => ({ from, to, readOnly: true });
  return [
    bind(settings, SETTINGS),
    bind(units, '/usr/local/lib/systemd/system'),
    bind(programs.kube, KUBE),
    bind(kubectlOf(programs.kube), '/usr/local/bin/kubectl'),
    bind(join(settings, 'kubeconfig'), '/root/.kube/config'),
    bind(join(settings, 'containerd.toml'), '/etc/containerd/config.toml'),
    bind(join(settings, 'pods.conflist'), '/etc/cni/net.d/10-pods.conflist'),
    bind(join(settings, 'overcommit_memory'), '/proc/sys/vm/overcommit_memory'),
    bind(join(settings, 'panic'), '/proc/sys/kernel/panic'),
    bind(join(settings, 'panic_on_oops'), '/proc/sys/kernel/panic_on_oops'),
    ...(admission ? [bind(join(settings, 'certificate'), CERTIFICATE)] : []),
  ];
};

/** What holds the namespaces of a pod: it only has to be there, and to come from no registry. */
const makePauseImage = async (busybox: string, archive: string): Promise<void> => {
  await using work = await temporaryDirectory('pause');
  const command = ['/bin/sleep', '2147483647'];
  const image = await makeBusyboxImage(busybox, work.path, { name: PAUSE_IMAGE, command });
  await image.writeArchive(archive);
};

const newControlPlane = (): Readonly<Record<string, string>> => {
  const token = randomBytes(16).toString('hex');
  return {
    kubeconfig: formatKubeconfig({ server: `https://${API_ADDRESS}`, token, ca: CERTIFICATE }),
    'tokens.csv': `${token},admin,admin,system:masters\n`,
    'accounts.key': newAccountKey(),
  };
};

const newAccountKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs1', format: 'pem' })
    .toString();

const kubeletAt = (address: string) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  cgroupDriver: 'cgroupfs',
  // Hosts have the hierarchies of the machine they run on, which may be those of version 1.
  failCgroupV1: false,
  failSwapOn: false,
  oomScoreAdj: 0,
  containerRuntimeEndpoint: SOCKET,
  enforceNodeAllocatable: [],
  evictionHard: { 'memory.available': '10Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  imageGCHighThresholdPercent: 100,
  imageMinimumGCAge: '24h',
  localStorageCapacityIsolation: false,
  // After a power cut the API believes what it last heard; ten seconds, the default, is long to wait in a test.
  nodeStatusUpdateFrequency: '1s',
  resolvConf: `${SETTINGS}/resolv.conf`,
});

const POD_NETWORK = {
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      // So that pods reach what the node reaches: a machine at the other end of a cable knows no pod addresses.
      ipMasq: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: POD_RANGE }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

const CONTAINERD = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${PAUSE_IMAGE}"
# A host is not allowed to make itself less likely to be killed when memory runs out.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
`;

/** What every node has: its addresses, the image that pods begin with, and the kubelet. */
const nodeUnits = (
  name: string,
  [address = '', ...more]: readonly string[],
  after: readonly string[],
): Readonly<Record<string, string>> => ({
  'node-address.service': oneshot(
    [
      ...[address, ...more].map((one) => `/bin/ip address replace ${one}/32 dev lo`),
      // The kubelet opens it to watch for processes that were killed when memory ran out.
      '/bin/ln -sf null /dev/kmsg',
    ],
    [],
  ),
  'pause-image.service': oneshot(
    [
      `/usr/bin/ctr --namespace k8s.io images import ${SETTINGS}/pause.tar`,
      '/bin/touch /var/lib/containerd/has-pause',
    ],
    [
      'After=containerd.service',
      'Requires=containerd.service',
      'ConditionPathExists=!/var/lib/containerd/has-pause',
    ],
  ),
  'kubelet.service': service(
    'exec',
    [...after, 'pause-image.service'],
    [
      'kubelet',
      ...CLIENT,
      `--config=${SETTINGS}/kubelet.json`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
      '--root-dir=/var/lib/kubelet',
    ],
  ),
});

const joinedUnits = (name: string) => nodeUnits(name, [JOINED_ADDRESS], ['node-address.service']);

const CLIENT = ['--kubeconfig', `${SETTINGS}/kubeconfig`];

const unitsOf = (name: string): Readonly<Record<string, string>> => {
  const certificates = `${STATE}/certificates`;
  return {
    ...nodeUnits(name, [NODE_ADDRESS, API_ADDRESS], ['kube-apiserver.service']),
    'etcd.service': service(
      'notify',
      [],
      [
        'etcd',
        `--data-dir=${STATE}/etcd`,
        '--unsafe-no-fsync',
        '--log-level=warn',
        '--listen-client-urls=unix://client:1',
        '--advertise-client-urls=http://127.0.0.1:1',
        '--listen-peer-urls=unix://peer:1',
      ],
    ),
    'kube-apiserver.service': service(
      'notify',
      ['etcd.service', 'node-address.service'],
      [
        'kube-apiserver',
        `--etcd-servers=unix://${STATE}/client:1`,
        '--bind-address=0.0.0.0',
        '--secure-port=443',
        `--advertise-address=${NODE_ADDRESS}`,
        `--cert-dir=${certificates}`,
        `--service-account-key-file=${SETTINGS}/accounts.key`,
        `--service-account-signing-key-file=${SETTINGS}/accounts.key`,
        '--service-account-issuer=https://kubernetes.default.svc',
        `--token-auth-file=${SETTINGS}/tokens.csv`,
        '--authorization-mode=RBAC',
        `--service-cluster-ip-range=${SERVICE_RANGE}`,
        '--endpoint-reconciler-type=none',
        '--allow-privileged',
        '--kubelet-preferred-address-types=InternalIP',
      ],
    ),
    'kube-controller-manager.service': service(
      'exec',
      ['kube-apiserver.service'],
      [
        'kube-controller-manager',
        ...CLIENT,
        '--leader-elect=false',
        '--secure-port=0',
        `--service-account-private-key-file=${SETTINGS}/accounts.key`,
        `--root-ca-file=${certificates}/apiserver.crt`,
      ],
    ),
    'kube-scheduler.service': service(
      'exec',
      ['kube-apiserver.service'],
      ['kube-scheduler', ...CLIENT, '--leader-elect=false', '--secure-port=0'],
    ),
  };
};

const service = (type: 'notify' | 'exec', after: readonly string[], words: readonly string[]): string =>
  [
    '[Unit]',
    ...(after.length === 0 ? [] : [`After=${after.join(' ')}`, `Wants=${after.join(' ')}`]),
    'StartLimitIntervalSec=0',
    '[Service]',
    `Type=${type}`,
    `ExecStart=${[KUBE, ...words].join(' ')}`,
    `WorkingDirectory=${STATE}`,
    'Environment=HOME=/root',
    ...Object.entries(GO_MEMORY).map(([name, value]) => `Environment=${name}=${value}`),
    'Restart=always',
    'RestartSec=1',
    'TimeoutStartSec=120',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');

const oneshot = (commands: readonly string[], unit: readonly string[]): string =>
  [
    '[Unit]',
    ...unit,
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    ...commands.map((command) => `ExecStart=${command}`),
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');
