import { packLayer } from '#bundles/formats/archive/pack-layer';
import type { BundleAssignment, BundleConfig, ClosureEntry } from '#bundles/formats/bundle/config';
import type { BundleKind, Channel } from '#bundles/names';
import type { HostPackage } from '#bundles/formats/bundle/host-package';
import { bundleManifest, type Descriptor, encodeManifest } from '#bundles/formats/layout/manifest';
import { type PackageFile, packageDigest } from '#bundles/formats/bundle/package-digest';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { BUNDLE_CONFIG, LAYER_HOST, LAYER_KUBERNETES, OCI_MANIFEST } from '#bundles/media-types';
import { FLEET, HOST, LINE } from './fleet.ts';

/** The bundles of the corpus: one of each kind, small, with every field that the format has. */
export type Blob = { readonly descriptor: Descriptor; readonly bytes: Buffer };
const blobOf = (mediaType: string, bytes: Buffer): Blob => ({
  descriptor: { mediaType, digest: digestOf(bytes), size: bytes.byteLength },
  bytes,
});
export type Made = {
  readonly kind: BundleKind;
  readonly channel: Channel;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Blob[];
  /** Blobs of images, manifests first. */
  readonly images: readonly Blob[];
};
export const digestOfBundle = ({ manifest }: Made): Digest => manifest.descriptor.digest;

const textFile = (path: string, text: string): PackageFile => ({ path, bytes: Buffer.from(text) });

const hostPackage = (
  id: string,
  content: readonly (PackageFile & {
    readonly to: string;
    readonly mode: string;
    readonly format?: 'env' | 'json';
  })[],
  rest: Pick<HostPackage, 'directories' | 'units' | 'checks'>,
): readonly PackageFile[] => {
  const described: HostPackage = {
    id,
    files: content
      .map(({ path, to, mode, format, bytes }) => ({
        path: to,
        mode,
        owner: 'root',
        group: 'root',
        content: path,
        digest: digestOf(bytes),
        size: Buffer.byteLength(bytes),
        ...(format === undefined ? {} : { format }),
      }))
      .toSorted((a, b) => compareBytes(a.path, b.path)),
    ...rest,
    critical: [],
  };
  return [
    { path: 'package.json', bytes: canonicalBytes(described) },
    ...content.map(({ path, bytes }) => ({ path, bytes })),
  ];
};

const folder = (path: string) => ({ path, mode: '0755', owner: 'root', group: 'root' });

export const printer = (label: string): readonly PackageFile[] =>
  hostPackage(
    'printer',
    [
      { ...textFile('files/label.zpl', label), to: '/etc/printer/label.zpl', mode: '0644' },
      {
        ...textFile('files/print-loop', '#!/bin/sh\nexec sleep infinity\n'),
        to: '/opt/printer/print-loop',
        mode: '0755',
      },
      {
        ...textFile(
          'files/printer.service',
          '[Service]\nExecStart=/opt/printer/print-loop\n\n[Install]\nWantedBy=multi-user.target\n',
        ),
        to: '/etc/systemd/system/printer.service',
        mode: '0644',
      },
    ],
    {
      directories: [folder('/etc/printer'), folder('/opt/printer')],
      units: [
        { name: 'printer.service', enabled: true, active: true, restartOn: ['/etc/printer/label.zpl'] },
      ],
      checks: [{ type: 'unit', name: 'runs', unit: 'printer.service', stableSeconds: 5 }],
    },
  );

const scale = hostPackage(
  'scale',
  [
    {
      ...textFile('files/scale.json', '{\n  "line": 0,\n  "unit": "kg"\n}\n'),
      to: '/etc/scale/scale.json',
      mode: '0640',
      format: 'json',
    },
    {
      ...textFile('files/scale.env', '# Größe in Kilogramm\nPORT=8080\nGATEWAY=none\n'),
      to: '/etc/scale/scale.env',
      mode: '0640',
      format: 'env',
    },
  ],
  {
    directories: [folder('/etc/scale')],
    units: [],
    checks: [
      {
        type: 'exec',
        name: 'file is there',
        argv: ['/bin/sh', '-c', 'test -s "$FLEET_ROOT/etc/scale/scale.json"'],
        timeoutSeconds: 10,
      },
      { type: 'http', name: 'answers', url: 'http://127.0.0.1:8080/health', status: 200, timeoutSeconds: 10 },
    ],
  },
);

const assignment = (
  id: string,
  packageFiles: readonly PackageFile[],
  layer: Digest,
  more: Partial<BundleAssignment> = {},
): BundleAssignment => ({
  id,
  package: packageDigest(packageFiles),
  path: id,
  layer,
  dependsOn: [],
  critical: false,
  workspace: 'logistics',
  workload: id,
  deploymentTarget: id,
  ...more,
});

const below = (id: string, packageFiles: readonly PackageFile[]) =>
  packageFiles.map(({ path, bytes }) => ({ path: `${id}/${path}`, bytes }));

const bundleOf = (
  kind: BundleKind,
  channel: Channel,
  layers: readonly Blob[],
  rest: Pick<BundleConfig, 'assignments' | 'siteInputs' | 'requirements' | 'closure'>,
  images: readonly Blob[] = [],
): Made => {
  const body: BundleConfig = { fleet: FLEET, ...channel, kind, ...rest, critical: [] };
  const config = blobOf(BUNDLE_CONFIG, canonicalBytes(body));
  const manifest = encodeManifest(
    bundleManifest(
      kind,
      config.descriptor,
      layers.map(({ descriptor }) => descriptor),
    ),
  );
  return { kind, channel, manifest, config, layers, images };
};

export const hostBundle = (label: string): Made => {
  const packages = [
    ['printer', printer(label)],
    ['scale', scale],
  ] as const;
  const layers = packages.map(([id, content]) => blobOf(LAYER_HOST, packLayer(below(id, content)).bytes));
  const layerOf = (index: number): Digest => (layers[index] as Blob).descriptor.digest;
  return bundleOf('host', HOST, layers, {
    assignments: [
      assignment('printer', packages[0][1], layerOf(0), { dependsOn: ['scale'] }),
      assignment('scale', packages[1][1], layerOf(1), { critical: true }),
    ],
    siteInputs: {
      schema: {
        type: 'object',
        properties: { lineNumber: { type: 'integer' }, gateway: { type: 'string' } },
        required: ['gateway', 'lineNumber'],
      },
      fields: [
        { input: 'lineNumber', assignment: 'scale', file: '/etc/scale/scale.json', pointer: '/line' },
        { input: 'gateway', assignment: 'scale', file: '/etc/scale/scale.env', pointer: '/GATEWAY' },
      ],
    },
    requirements: { diskBytes: 65_536, agent: '0.1.0' },
    closure: [],
  });
};

/** A whole image, small: the layer is text. */
export const image = (() => {
  const layer = blobOf('application/vnd.oci.image.layer.v1.tar', Buffer.alloc(4096, 'a layer of an image\n'));
  const config = blobOf(
    'application/vnd.oci.image.config.v1+json',
    canonicalBytes({
      architecture: 'amd64',
      os: 'linux',
      rootfs: { type: 'layers', diff_ids: [layer.descriptor.digest] },
    }),
  );
  const manifest = encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: config.descriptor,
    layers: [layer.descriptor],
  });
  return { manifest, blobs: [manifest, config, layer] };
})();

export const kubernetesBundle = (): Made => {
  const name = `registry.example/line/control@${image.manifest.descriptor.digest}`;
  const content = [
    textFile('kustomization.yaml', 'resources:\n- deployment.yaml\n- namespace.yaml\n'),
    textFile('namespace.yaml', 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: line-control\n'),
    textFile(
      'deployment.yaml',
      `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: control\n  namespace: line-control\nspec:\n  replicas: 1\n  selector:\n    matchLabels:\n      app: control\n  template:\n    metadata:\n      labels:\n        app: control\n    spec:\n      containers:\n      - name: control\n        image: ${name}\n        env:\n        - name: LINE\n          value: ""\n`,
    ),
  ];
  const layer = blobOf(
    LAYER_KUBERNETES,
    packLayer([
      { path: 'kustomization.yaml', bytes: Buffer.from('resources:\n- control\n') },
      ...below('control', content),
    ]).bytes,
  );
  const { digest, size, mediaType } = image.manifest.descriptor;
  const closure: ClosureEntry = { digest, size, mediaType, platform: 'linux/amd64', names: [name] };
  return bundleOf(
    'kubernetes',
    LINE,
    [layer],
    {
      assignments: [assignment('control', content, layer.descriptor.digest, { namespace: 'line-control' })],
      siteInputs: {
        schema: { type: 'object', properties: { lineName: { type: 'string' } }, required: ['lineName'] },
        fields: [
          {
            input: 'lineName',
            assignment: 'control',
            file: 'deployment.yaml',
            pointer: '/0/spec/template/spec/containers/0/env/0/value',
          },
        ],
      },
      requirements: { diskBytes: 65_536, kubernetes: '>=1.30' },
      closure: [closure],
    },
    image.blobs,
  );
};
